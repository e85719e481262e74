# verdicts: CE
# why: an error in a line of a megabyte, which the message quotes
value = @repeat(90000, "1 + 2 3 + ")@
