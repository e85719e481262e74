print(input().upper())
raise SystemExit(3)
