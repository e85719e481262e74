"""The one exception type that a user is meant to read."""


class MadrlError(ValueError):
    """Bad input from outside: a config value, a data row, a file.

    The message names the value and the remedy in one line; the command line prints it without a traceback.
    """
