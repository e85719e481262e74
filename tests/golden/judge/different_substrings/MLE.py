word = input()
print(len({word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1)}))
