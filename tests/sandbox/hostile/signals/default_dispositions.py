# verdicts: AC
# why: the same as in a plain interpreter: SIGINT raises, SIGPIPE and SIGXFSZ are ignored, every other signal does what it does
import signal

got = [number for number in range(1, 65) if number not in (2, 9, 13, 19, 25, 32, 33) and signal.getsignal(number) != signal.SIG_DFL]
got += [number for number in (13, 25) if signal.getsignal(number) != signal.SIG_IGN]
if signal.getsignal(2) is not signal.default_int_handler:
    got.append(2)
got += signal.pthread_sigmask(signal.SIG_BLOCK, [])
print(got or "contained")
