# verdicts: CE
# -*- coding: ../../etc/passwd -*-
# why: an encoding that is a path
print("contained")
