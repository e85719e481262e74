# verdicts: AC RE
# why: printing the exception exits with status 0, as it also would in a plain interpreter
import os


class Evil(Exception):
    def __str__(self):
        os._exit(0)


print("contained", flush=True)
raise Evil
