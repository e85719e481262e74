# verdicts: CE
# why: an error whose quoted line clears the screen and forges other lines
value = 1 @repeat(3, "\u001b[2J\u0007\r\u202e")@ error error
