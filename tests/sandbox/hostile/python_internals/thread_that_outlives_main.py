# verdicts: AC
# why: Python waits for a thread that is no daemon, and prints what it prints
import threading
import time


def late():
    time.sleep(0.1)
    print("contained")


threading.Thread(target=late).start()
