word = input()
total = 0
for start in range(len(word)):
    # the longest prefix of this suffix that has occurred before
    low, high = 0, len(word) - start
    while low < high:
        middle = (low + high + 1) // 2
        if word.find(word[start : start + middle]) < start:
            low = middle
        else:
            high = middle - 1
    total += len(word) - start - low
print(total)
