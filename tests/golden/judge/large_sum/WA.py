n = int(input())
total = sum(map(int, input().split())) & 0xFFFFFFFF
print(total - (1 << 32) if total >> 31 else total)
