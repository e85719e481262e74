# verdicts: AC
# why: closes sys.stdout and exits; Python does not mind
import sys

print("contained")
sys.stdout.close()
sys.stdin.close()
