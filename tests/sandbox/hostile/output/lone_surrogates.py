# verdicts: RE WA
# why: characters that no encoding can write
print("contained\udc80\ud800")
