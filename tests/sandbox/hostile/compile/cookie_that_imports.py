# verdicts: CE
# -*- coding: antigravity -*-
# why: looking for an encoding imports a module of that name
print("contained")
