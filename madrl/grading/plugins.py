"""Finding a classifier or a verifier that a user names: a key of a literal dict, or ``pkg.module:name``."""

import importlib
from collections.abc import Mapping
from typing import TypeVar

from madrl.errors import MadrlError

T = TypeVar("T")


def load_plugin(spec: str, builtin: Mapping[str, T], kind: str) -> T:
    """The object that ``spec`` names: an entry of ``builtin``, or the attribute ``name`` of ``pkg.module:name``.

    Raises MadrlError that names the spec, what was tried and what there is.
    """
    if spec in builtin:
        return builtin[spec]
    module_name, colon, attribute = spec.partition(":")
    if not (module_name and colon and attribute):
        raise MadrlError(f"unknown {kind} {spec!r}: use one of {sorted(builtin)} or your own as pkg.module:name")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the user's module does when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise MadrlError(f"{kind} {spec!r}: cannot import {module_name!r} ({reason})") from error
    try:
        plugin: T = getattr(module, attribute)
    except AttributeError:
        raise MadrlError(f"{kind} {spec!r}: module {module_name!r} has no {attribute!r}") from None
    return plugin
