import sys
sys.stdout.buffer.write(sys.stdin.buffer.readline().strip()[::-1] + b"\n")
