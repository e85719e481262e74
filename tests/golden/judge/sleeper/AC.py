import time
word = input()
time.sleep(0.3)
print(word)
