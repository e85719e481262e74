"""Finding the function that a user names: a key of a literal dict, ``pkg.module:name``, or the function itself."""

import functools
import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from madrl.errors import MadrlError
from madrl.extras import require

Plugin = str | Callable[..., Any]
"""How a user names a classifier or a verifier."""

Function = TypeVar("Function", bound=Callable[..., Any])


def load_plugin(
    spec: str | Function, builtin: Mapping[str, Function], kind: str, extras: Mapping[str, str] = MappingProxyType({})
) -> Function:
    """The function that ``spec`` names: an entry of ``builtin``, the attribute ``name`` of ``pkg.module:name``, or
    ``spec`` itself.

    ``extras`` has the extra of the package that an entry of ``builtin`` needs. Raises MadrlError that names the spec,
    what was tried and what there is, or the extra that is not installed.
    """
    if isinstance(spec, str) and spec in extras:
        require(extras[spec])
    plugin = cast(Function, _named(spec, builtin, kind) if isinstance(spec, str) else spec)
    if not callable(plugin):
        raise MadrlError(f"{kind} {spec!r} is a {type(plugin).__name__}: name a function")
    return plugin


def _named(spec: str, builtin: Mapping[str, Function], kind: str) -> Any:
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
        return getattr(module, attribute)
    except AttributeError:
        raise MadrlError(f"{kind} {spec!r}: module {module_name!r} has no {attribute!r}") from None


def name_of(plugin: Plugin) -> str:
    """How messages call the plug-in: the name that the user gave, or ``pkg.module:name`` of a function."""
    if isinstance(plugin, str):
        return plugin
    while isinstance(plugin, functools.partial):
        plugin = plugin.func
    module = getattr(plugin, "__module__", None) or "builtins"
    return f"{module}:{getattr(plugin, '__qualname__', type(plugin).__qualname__)}"


def own_module(plugin: Plugin) -> str | None:
    """The module of a plug-in that is the user's own; None for a built-in one."""
    module, colon, _ = name_of(plugin).partition(":")
    return module if colon else None
