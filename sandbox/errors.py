"""Errors on our side, or in a request. None of them is ever the program's doing."""


class SandboxError(Exception):
    """The service cannot do what was asked, for a reason of its own; the message names it and the remedy."""


class ToolchainMissingError(SandboxError):
    """A language has no compiler or interpreter here; the message names the Debian package."""


class LanguageNotServedError(SandboxError):
    """A request names a language that works on other machines, and not on this one, or not yet."""


class TranslatorLostError(SandboxError):
    """The process that translates what is large was lost twice over one request. It may be the request that ends it."""


class CheckerError(SandboxError):
    """The checker program that a request brings is at fault; repeating the request changes nothing."""


class BadRequestError(Exception):
    """The request is at fault: its fields, its language, or files that cannot be put into the working directory."""


class BoxLostError(SandboxError):
    """A sandbox ended while it was in use. judging.py decides with a canary who is to blame."""
