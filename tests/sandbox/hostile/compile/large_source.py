# verdicts: AC CE
# why: 8 MB of comments: more than a service need take, and the program's own fault
@repeat(80000, "# a line of one hundred characters, which says nothing at all and goes on until it has all of them\n")@
print("contained")
