# verdicts: RE
# why: SystemExit with a text is exit status 1
print("contained")
raise SystemExit("no")
