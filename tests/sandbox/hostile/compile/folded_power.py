# verdicts: TLE MLE
# why: a number of 370 million digits
# time_limit_s: 0.4
value = 9**9**9
print("contained")
