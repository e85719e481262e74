"""Finding the function or the class that a user names, and giving it its arguments.

It is named by a key of a literal dict, as ``pkg.module:name``, or is the function itself. Its first parameter is what
it looks at, a Rollout or a list of them. All others are arguments, which are given by name.
"""

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_args, get_origin

from madrl.errors import MadrlError
from madrl.extras import require
from madrl.files import json_object
from madrl.rollout import Rollout

Plugin = str | Callable[..., Any]
"""How a user names a classifier or a verifier."""

Function = TypeVar("Function", bound=Callable[..., Any])

CATEGORIES = "categories"
"""The parameter that gets the declared categories where the arguments leave it out."""

_ROLLOUT = r"""(ForwardRef\()?['"]?([\w.]+\.)?Rollout['"]?\)?"""
_OF_ROLLOUTS = re.compile(rf"([\w.]+\.)?([Ll]ist|Sequence)\[{_ROLLOUT}\]")


class PluginError(MadrlError):
    """A mistake of a classifier or a verifier, which no response can be blamed for: its name, the value, the remedy."""


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


def arguments_of(text: str) -> dict[str, Any]:
    """The keyword arguments that a command was given as JSON. Raises MadrlError for anything but an object."""
    return json_object(text, "arguments", '{"name": 1}')


def with_arguments(
    plugin: Callable[..., Any], arguments: Mapping[str, Any], kind: str, name: str, categories: Sequence[str] = ()
) -> Callable[..., Any]:
    """What is called with responses: a function ``plugin`` with its arguments bound, or an instance of a class that is
    made with them.

    Args:
        kind: what the plug-in is, such as ``classifier``; its arguments are then in ``classifier_args``.
        name: how the user calls it.
        categories: the declared categories, for a parameter of that name; none where nobody has declared any.

    Raises MadrlError for an argument that the plug-in does not take or that it lacks, for one whose default is true or
    false and which is neither, for whatever the class's constructor raises, and for a class whose instances cannot be
    called.
    """
    what = f"{kind} {name}"
    if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
        raise MadrlError(f"{kind}_args={arguments!r} is no mapping of arguments: write {{name: value}}")
    try:
        parameters = list(inspect.signature(plugin).parameters.values())
    except (TypeError, ValueError):  # a function written in C may not have one
        parameters = []
    if not inspect.isclass(plugin):
        parameters = parameters[1:]
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    given = dict(arguments)
    if CATEGORIES in known and categories:
        given.setdefault(CATEGORIES, tuple(categories))
    unknown = [argument for argument in given if argument not in known]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise MadrlError(f"{what} has no argument {unknown[0]!r}: {takes} ({kind}_args)")
    for parameter in parameters:
        value = given.get(parameter.name)
        if isinstance(parameter.default, bool) and parameter.name in given and not isinstance(value, bool):
            raise MadrlError(f"{what}: {parameter.name}={value!r} is neither true nor false ({kind}_args)")
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if missing := [argument for argument in needed if argument not in given]:
        remedy = "declare them (--categories)" if missing[0] == CATEGORIES else f"set {kind}_args={{{missing[0]}: ...}}"
        raise MadrlError(f"{what} needs the argument {missing[0]!r}: {remedy}")
    if not inspect.isclass(plugin):
        return functools.partial(plugin, **given) if given else plugin
    try:
        instance = plugin(**given)
    except MadrlError as error:
        raise MadrlError(f"{what}: {error}") from error
    except Exception as error:  # whatever the user's class does when it is made
        raise MadrlError(f"{what} cannot be made with {kind}_args: {type(error).__name__}: {error}") from error
    if not callable(instance):
        raise MadrlError(f"{what} is a class whose instances cannot be called: define __call__(self, rollout)")
    return cast(Callable[..., Any], instance)


def takes_several(plugin: Callable[..., Any], what: str) -> bool:
    """Whether the first parameter of a plug-in is annotated ``list[Rollout]`` or ``Sequence[Rollout]``, or with a
    subclass in its place: then it gets several responses at once, and returns a list of as many results.

    Raises MadrlError, which calls the plug-in ``what``, for any other annotation that has Rollout in it.
    """
    try:
        parameters = inspect.signature(plugin, eval_str=True).parameters
    except Exception:  # an annotation that stands for the type checker only
        try:
            parameters = inspect.signature(plugin).parameters
        except (TypeError, ValueError):
            return False
    first = next(iter(parameters.values()), None)
    annotation = None if first is None else first.annotation
    if isinstance(annotation, type):
        return False
    text = annotation if isinstance(annotation, str) else repr(annotation)
    listed = get_args(annotation) if get_origin(annotation) in (list, Sequence) else ()
    if _OF_ROLLOUTS.fullmatch(text) or any(isinstance(of, type) and issubclass(of, Rollout) for of in listed):
        return True
    if re.search(r"\bRollout\b", text) and not re.fullmatch(_ROLLOUT, text):
        raise MadrlError(
            f"{what}: its first parameter is annotated {text}: write Rollout for one response, and list[Rollout] or "
            "Sequence[Rollout] for several at once"
        )
    return False


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
