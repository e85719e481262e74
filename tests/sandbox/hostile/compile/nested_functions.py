# verdicts: CE AC RE
# why: code objects within code objects, up to the depth that indentation allows
@repeat(1, "def f0():\n def f1():\n  def f2():\n   def f3():\n    def f4():\n     return (lambda: (lambda: (lambda: 1)))\n    return f4\n   return f3\n  return f2\n return f1\n")@
value = @repeat(900, "(lambda: ")@1@repeat(900, ")")@ if 0 else 1
print("contained")
