"""What tells one version of code from another: its modules' statements, without comments, docstrings and layout.

The modules are found by following import statements, also those inside functions. What a module imports by a name that
it makes at run time is not found.
"""

import ast
import hashlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import madrl

PACKAGE = Path(madrl.__file__).parent

INSTALLED = ("site-packages", "dist-packages")
"""Folders in which a package's neighbours are not its own."""

Locate = Callable[[str], Path | None]
"""A function from a module's name to its file, or to None for a module that is not followed."""


def ours(module: str) -> Path | None:
    """The file of a module of ours. The root package is left out: it holds the version, which each release changes."""
    return _file_below(PACKAGE.parent, module) if module.startswith("madrl.") else None


def imported_by(roots: Iterable[str], locate: Locate = ours, without: Collection[str] = ()) -> dict[str, Path]:
    """Name -> file of ``roots`` and of every module that they import, directly or not, which ``locate`` finds;
    ``without`` are left out."""
    found: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        path = None if name in found or name in without else locate(name)
        if path is not None:
            found[name] = path
            waiting += _imports(path, name)
    return found


def plugin_modules(module: str) -> dict[str, Path]:
    """Name -> file of the module that a classifier or a verifier was imported from, and of what it imports of its own
    package, of its own folder, and of ours."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return {}
    path = Path(file).resolve()
    folder = path.parents[module.count(".") + (path.stem == "__init__")]
    package = module.partition(".")[0]

    def locate(name: str) -> Path | None:
        if name == module:
            return path
        neighbour = folder.name not in INSTALLED or name.partition(".")[0] == package
        return ours(name) or (_file_below(folder, name) if neighbour and name != "madrl" else None)

    return imported_by([module], locate)


def file_modules(file: Path) -> dict[str, Path]:
    """Name -> file of a file of code that belongs to no package, and of what it imports from beside it."""
    path = file.resolve()
    return imported_by([path.stem], lambda name: path if name == path.stem else _file_below(path.parent, name))


def digest(modules: Mapping[str, Path]) -> str:
    """SHA-256 over the modules' names and statements."""
    found = hashlib.sha256()
    for name in sorted(modules):
        found.update(f"\n{name}\n".encode() + _content(modules[name]))
    return found.hexdigest()


def statements(source: str) -> str:
    """A module's source without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # Also the strings that document an attribute, below it.
            kept = [part for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    try:
        return statements(content.decode("utf-8")).encode()
    except (SyntaxError, ValueError):  # a compiled module, or one that nothing could import
        return content


def _imports(path: Path, module: str) -> Iterator[str]:
    """The names of what a module imports: also ``a.b`` of ``from a import b``, which may be a module."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    package = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (name for name in (base, *(f"{base}.{alias.name}".strip(".") for alias in node.names)) if name)


def _file_below(folder: Path, module: str) -> Path | None:
    path = folder.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path if path.is_file() else None
