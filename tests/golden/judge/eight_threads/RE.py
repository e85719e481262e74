import threading
n = int(input())
parts = [0] * 8
def work(k):
    parts[k] = sum(i * i for i in range(k, n + 1, 8))
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(parts) // parts[8])
