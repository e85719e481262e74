# verdicts: AC CE
# why: text that JSON can carry and UTF-8 cannot
text = "@repeat(1, "\ud800")@"
print("contained")
