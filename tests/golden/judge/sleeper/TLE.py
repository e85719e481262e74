import time
word = input()
time.sleep(3600)
print(word)
