"""CODE: which of the five programming languages the program in a response is in.

The program is the very object that the verifier runs (``madrl.grading.programs.extract``), so a category can't be
earned with anything but what is graded.
"""

from madrl.grading.programs.extract import last_program
from madrl.rollout import Classification, Rollout


def classify_programming_language(rollout: Rollout) -> Classification:
    """The language that the response's program really is in, with a reason where that is not what its fence says.

    Off-support with ``no_program`` when there is none, and with what the fence said when its code is in no language of
    ours.
    """
    program = last_program(rollout.response)
    if program is None:
        return Classification(None, "no_program")
    return Classification(program.language, program.reason)
