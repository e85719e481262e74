"""Classifiers whose arguments name their categories: those must be the declared ones."""

from collections.abc import Collection, Sequence

from madrl.errors import MadrlError, check_texts


def check_named(argument: str, named: Collection[str], declared: Sequence[str]) -> None:
    """Raises MadrlError when ``named`` are not the declared categories, and says which one is no text, lacking or not
    declared. Where none are declared, any will do, but there must be some.

    Args:
        argument: the classifier's argument that names them.
    """
    if not named:
        raise MadrlError(f"{argument} are empty: name every category")
    check_texts(f"{argument}: category", named)
    if not declared:
        return
    lacking = [name for name in declared if name not in named]
    undeclared = [name for name in named if name not in declared]
    if lacking or undeclared:
        what = f"lack {', '.join(lacking)}" if lacking else f"name {', '.join(undeclared)}"
        raise MadrlError(f"{argument} {what}: name the declared categories ({', '.join(declared)}) and no others")
