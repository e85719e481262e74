# verdicts: RE
# why: printing the exception raises again, and its class lies about itself
class Evil(BaseException):
    def __str__(self):
        raise self

    __repr__ = __str__

    @property
    def __class__(self):
        raise self


print("contained", flush=True)
raise Evil
