# verdicts: RE TLE MLE
# why: forks without end; the first process dies of BlockingIOError at the limit on processes, unless the limit on CPU time comes first, or, where the processes pile up on a busy machine, the one on memory
import os

while True:
    os.fork()
