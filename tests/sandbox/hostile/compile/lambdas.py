# verdicts: CE RE AC
# why: functions within functions, deeper than the compiler's stack
value = @repeat(5000, "lambda: ")@1
print("contained")
