# verdicts: RE MLE TLE
# why: constants of constants
value = ((((1,) * 200) * 200) * 200) * 2000
value = ((((((1,) * 255,) * 255,) * 255,) * 255,) * 255,) * 255
value = [value for value in "x" * 10**9]
