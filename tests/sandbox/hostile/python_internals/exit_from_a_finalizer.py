# verdicts: RE
# why: the same from a finalizer of an object that lives as long as the module
import os


class Last:
    def __del__(self, exit=os._exit):
        exit(3)


last = Last()
print("contained", flush=True)
