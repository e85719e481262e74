# verdicts: AC CE RE
# why: a constant too deep to be written to a compiled file
value = @repeat(150, "(")@1@repeat(150, ",)")@
def function(a=@repeat(90, "((")@1@repeat(90, ",),)")@): pass
print("contained")
