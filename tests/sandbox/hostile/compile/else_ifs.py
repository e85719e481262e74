# verdicts: CE AC RE
# why: an if statement with fifty thousand branches, which are nested in the tree
if 0: pass
@repeat(50000, "elif 0: pass\n")@
else: print("contained")
