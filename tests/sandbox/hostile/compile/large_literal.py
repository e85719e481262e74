# verdicts: AC CE MLE
# why: a literal with a hundred and thirty thousand numbers, in the parser, the compiler and the compiled file
# time_limit_s: 2
# memory_limit_mb: 128
value = [@repeat(130000, "%d,")@]
print("contained")
