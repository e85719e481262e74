# verdicts: AC CE
# -*- coding: utf-7 -*-
# why: an encoding in which a comment can hide a line of code
# +AAo-print("contained")
