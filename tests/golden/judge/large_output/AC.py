print("\n".join(str(i * i) for i in range(int(input()))))
