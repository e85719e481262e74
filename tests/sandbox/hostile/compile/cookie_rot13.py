# verdicts: CE
# -*- coding: rot13 -*-
# why: an encoding that is none for text
cevag("pbagnvarq")
