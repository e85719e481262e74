"""The extras of the package: optional libraries, asked for where they are first used."""

from importlib.util import find_spec

from madrl.errors import MadrlError

EXTRAS = {
    "report": ("matplotlib", "scipy"),
    "math": ("math_verify",),
    "language": ("py3langid",),
    "programs": (
        "tree_sitter", "tree_sitter_python", "tree_sitter_cpp", "tree_sitter_java", "tree_sitter_go",
        "tree_sitter_javascript", "httpx",
    ),
    "judges": ("httpx",),
    "models": ("torch", "transformers"),
}  # fmt: skip
"""Extra -> the modules that it brings and that are imported."""


def require(extra: str) -> None:
    """Raises MadrlError that names the extra when one of its modules is not installed. Imports nothing."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise MadrlError(f'{module} is not installed: pip install "madrl[{extra}]"')
