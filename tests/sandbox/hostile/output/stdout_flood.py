# verdicts: OLE
# why: prints without end
# time_limit_s: 3
while True:
    print("x" * 65536)
