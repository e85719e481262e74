# verdicts: RE TLE
# why: forks without end; the first process dies of BlockingIOError at the limit on processes, unless the limit on CPU time comes first
import os

while True:
    os.fork()
