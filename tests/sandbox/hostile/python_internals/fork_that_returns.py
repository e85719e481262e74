# verdicts: AC
# why: a child that leaves through the program's end must not go on in the runner's code
import os

if os.fork() == 0:
    raise SystemExit(0)
os.wait()
if os.fork() == 0:
    raise ValueError("a child's")
os.wait()
print("contained")
