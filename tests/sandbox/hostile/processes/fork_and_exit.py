# verdicts: AC
# why: the same chain in Python, each link in a session of its own
import os

print("contained", flush=True)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
