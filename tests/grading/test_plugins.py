import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, List, Optional  # noqa: UP035

import pytest

import madrl
from madrl.errors import MadrlError
from madrl.grading.choice import classify_choice, verify_listed_option
from madrl.grading.classifiers import CLASSIFIERS, load_classifier
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin, load_plugin, name_of, takes_several
from madrl.grading.verifiers import VERIFIERS, load_verifier
from madrl.rollout import Classification, Rollout

BUILTIN = {"one": min, "two": max}

USERS_MODULE = """
from madrl.rollout import Classification, Verdict, Verification

LIMIT = 3

def classify_length(rollout):
    return Classification("short" if len(rollout.response) < LIMIT else "long")

async def verify_anything(rollout):
    return Verification(1.0)

def verify_without_async(rollout):
    return Verification(1.0)

class Verify:
    async def __call__(self, rollout):
        return Verification(0.0)

verify_object = Verify()

class VerifyPlain:
    def __call__(self, rollout):
        return Verification(0.0)

verify_plain_object = VerifyPlain()
"""


@pytest.fixture(autouse=True)
def users_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "users_plugins.py").write_text(USERS_MODULE)
    (tmp_path / "users_broken.py").write_text("import no_such_library\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        yield


def test_a_key_of_the_dict_is_found() -> None:
    assert load_plugin("two", BUILTIN, "number") is max


def test_an_attribute_of_a_module_is_found() -> None:
    assert load_plugin("users_plugins:classify_length", BUILTIN, "number").__name__ == "classify_length"


def test_a_function_stands_for_itself_and_is_called_by_its_module_and_name() -> None:
    assert load_plugin(classify_choice, BUILTIN, "number") is classify_choice
    assert name_of(classify_choice) == "madrl.grading.choice:classify_choice"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("three", r"unknown number 'three': use one of \['one', 'two'\] or your own as pkg.module:name"),
        ("no_such_module:name", r"number 'no_such_module:name': cannot import 'no_such_module'"),
        ("users_plugins:three", r"number 'users_plugins:three': module 'users_plugins' has no 'three'"),
        ("users_plugins:", r"unknown number 'users_plugins:'"),
    ],
)
def test_a_name_that_leads_nowhere_is_explained(spec: str, message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        load_plugin(spec, BUILTIN, "number")


def test_an_import_that_fails_inside_the_users_module_names_what_was_missing() -> None:
    with pytest.raises(MadrlError, match=r"cannot import 'users_broken' .*no_such_library"):
        load_plugin("users_broken:anything", BUILTIN, "number")


def test_built_in_classifier_and_verifier_are_found_by_name() -> None:
    assert load_classifier("choice") is classify_choice
    assert load_verifier("listed_option") is verify_listed_option


NEEDED: dict[str, dict[str, Any]] = {
    "field": {"marker": "Answer:"},
    "length": {"unit": "words", "buckets": {"en": 10, "es": None}},
    "llm": {"base_url": "http://127.0.0.1:9/v1", "model": "judge", "descriptions": {"en": "English", "es": "Spanish"}},
    "text_classification": {"model": "judge", "labels": {"LABEL_0": "en", "LABEL_1": "es"}},
    "regex": {"patterns": {"en": "the", "es": "el"}},
}
"""Built-in classifier -> arguments that it cannot do without."""

VERIFIER_NEEDS: dict[str, dict[str, Any]] = {
    "llm": {"base_url": "http://127.0.0.1:9/v1", "model": "judge", "rubric": "It is polite."},
    "reward_model": {"model": "judge"},
}
"""The same of built-in verifiers."""


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_built_in_classifier_loads(name: str) -> None:
    declared = ("python", "go") if name == "programming_language" else ("en", "es")
    assert callable(load_classifier(name, NEEDED.get(name, {}), declared))


@pytest.mark.parametrize("name", VERIFIERS)
def test_every_built_in_verifier_loads(name: str) -> None:
    assert callable(load_verifier(name, arguments=VERIFIER_NEEDS.get(name, {})))


def test_the_users_own_classifier_is_called() -> None:
    assert load_classifier("users_plugins:classify_length")(Rollout("abcd", "")) == Classification("long")


@pytest.mark.parametrize("name", ["verify_anything", "verify_object", "verify_without_async", "verify_plain_object"])
async def test_the_users_own_verifier_is_called_async_or_not(name: str) -> None:
    graded = await Grader(GraderSpec(None, f"users_plugins:{name}", ())).grade(Rollout("abcd", ""))
    assert graded.verdict in ("correct", "incorrect")


def test_a_classifier_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(MadrlError, match="classifier 'users_plugins:LIMIT' is a int: name a function"):
        load_classifier("users_plugins:LIMIT")


def test_a_verifier_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(MadrlError, match="verifier 'users_plugins:LIMIT' is a int: name a function"):
        load_verifier("users_plugins:LIMIT")


def words(rollout: Rollout, *, short: int = 3, unit: str = "words") -> str:
    return "short" if len(rollout.response.split()) <= short else "long"


def of_declared(rollout: Rollout, categories: tuple[str, ...], index: int = 0) -> str:
    return categories[index]


def loud(rollout: Rollout, *, shouted: bool = True) -> str | None:
    return "loud" if rollout.response.isupper() is shouted else None


class Nearest:
    def __init__(self, *, categories: tuple[str, ...], limit: float, model: str = "none") -> None:
        if limit < 0:
            raise MadrlError(f"limit={limit} is below 0")
        self.model = Path(model).read_bytes() if model != "none" else b""
        self.categories, self.limit = categories, limit

    def __call__(self, rollout: Rollout) -> str:
        return self.categories[len(rollout.response) > self.limit]


class NotCalled:
    pass


def with_any(rollout: Rollout, **others: Any) -> str:
    return str(others)


def test_a_function_is_called_with_its_arguments_and_a_class_is_made_with_them() -> None:
    rollout = Rollout("one two three four", "")
    assert load_classifier(words)(rollout) == "long"
    assert load_classifier(words, {"short": 4})(rollout) == "short"
    nearest = load_classifier(Nearest, {"limit": 18}, ["a", "b"])
    assert isinstance(nearest, Nearest)
    assert (nearest.limit, nearest.categories) == (18, ("a", "b")), "one instance, called with every response"
    assert nearest(rollout) == "a"
    assert load_classifier(with_any, {"x": 1})(rollout) == "{'x': 1}"
    assert load_verifier(words, None, {"short": 4})(rollout) == "short", "a verifier alike"


def test_the_declared_categories_are_an_argument_that_the_arguments_may_set() -> None:
    rollout = Rollout("", "")
    assert load_classifier(of_declared, {}, ["en", "fr"])(rollout) == "en"
    assert load_classifier(of_declared, {"categories": ["x"]}, ["en", "fr"])(rollout) == "x"


@pytest.mark.parametrize(
    ("plugin", "arguments", "message"),
    [
        (words, {"shrt": 3}, r":words has no argument 'shrt': it takes short, unit \(classifier_args\)$"),
        (classify_choice, {"a": 1}, r":classify_choice has no argument 'a': it takes none \(classifier_args\)$"),
        (Nearest, {}, r":Nearest needs the argument 'categories': declare them \(--categories\)$"),
        (Nearest, {"categories": ["a"]}, r":Nearest needs the argument 'limit': set classifier_args={limit: ...}$"),
        (Nearest, {"categories": ["a"], "limit": -1}, r":Nearest: limit=-1 is below 0$"),
        (Nearest, {"categories": [], "limit": "x"}, r"cannot be made with classifier_args: TypeError: '<' not"),
        (Nearest, {"categories": [], "limit": 1, "model": "/none"}, r"with classifier_args: FileNotFoundError: "),
        (NotCalled, {}, r":NotCalled is a class whose instances cannot be called: define __call__\(self, rollout\)$"),
        (loud, {"shouted": "false"}, r":loud: shouted='false' is neither true nor false \(classifier_args\)$"),
        (words, ["short"], r"^classifier_args=\['short'\] is no mapping of arguments: write {name: value}$"),
        (words, {3: 4}, r"^classifier_args={3: 4} is no mapping of arguments"),
    ],
)
def test_arguments_that_a_plug_in_does_not_take_or_lacks_are_one_clear_error(
    plugin: Callable[..., Any], arguments: Any, message: str
) -> None:
    with pytest.raises(MadrlError, match=message) as error:
        load_classifier(plugin, arguments)
    assert "\n" not in str(error.value)


def test_the_run_s_own_reward_function_takes_its_arguments_from_verl_s_key() -> None:
    with pytest.raises(MadrlError, match=r"set reward\.custom_reward_function\.reward_kwargs"):
        load_verifier("compute_score", lambda: 1.0, {"a": 1})


class RolloutLike(Rollout): ...


def one(rollout: Rollout) -> None: ...
def unnamed(rollout) -> None: ...  # type: ignore[no-untyped-def]
def texts(rollouts: list[str]) -> None: ...
def listed(rollouts: list[Rollout]) -> None: ...
def quoted(rollouts: "list[Rollout]") -> None: ...
def half_quoted(rollouts: Sequence["Rollout"], limit: int = 3) -> None: ...
def forward(rollouts: List["madrl.Rollout"]) -> None: ...  # noqa: UP006
def quoted_one(rollout: "madrl.Rollout") -> None: ...
def like_one(rollout: RolloutLike) -> None: ...
def for_the_type_checker(rollouts: "list[Rollout]", other: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821
async def waiting(rollouts: Sequence[Rollout]) -> None: ...
def listed_like(rollouts: list[RolloutLike]) -> None: ...
def listed_like_quoted(rollouts: "List[RolloutLike]") -> None: ...  # noqa: UP006
def in_sequence_like(rollouts: Sequence[RolloutLike]) -> None: ...
def bare_list(rollouts: List) -> None: ...  # type: ignore[type-arg]  # noqa: UP006


class Batched:
    def __call__(self, rollouts: list[Rollout]) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "several"),
    [
        *((plugin, False) for plugin in (quoted_one, like_one, bare_list)),
        *((plugin, False) for plugin in (one, unnamed, texts, min, words, functools.partial(words, short=2))),
        *((plugin, True) for plugin in (listed, quoted, half_quoted, for_the_type_checker, waiting, Batched())),
        *((plugin, True) for plugin in (listed_like, listed_like_quoted, in_sequence_like)),
        (forward, True),
        (functools.partial(half_quoted, limit=2), True),
    ],
)  # fmt: skip
def test_what_takes_several_responses_says_so_by_its_annotation(plugin: Callable[..., Any], several: bool) -> None:
    assert takes_several(plugin, "classifier mine") is several


def optional(rollouts: Optional[list[Rollout]]) -> None: ...  # noqa: UP045
def either(rollouts: list[Rollout] | None) -> None: ...
def iterable(rollouts: Iterable[Rollout]) -> None: ...
def pair(rollouts: tuple[Rollout, ...]) -> None: ...
def unresolved(rollouts: "list[Rollout] | NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("plugin", [optional, either, iterable, pair, unresolved])
def test_another_annotation_with_rollout_in_it_is_refused_when_the_grader_is_made(plugin: Plugin) -> None:
    expected = "classifier .* first parameter is annotated .*: write Rollout for one response, and list\\[Rollout\\] or"
    with pytest.raises(MadrlError, match=expected):
        Grader(GraderSpec(plugin, None, ()))


def test_a_function_with_bound_arguments_is_called_by_its_own_name() -> None:
    assert name_of(functools.partial(functools.partial(load_plugin, kind="x"), extras={})) == name_of(load_plugin)
    assert name_of(str.upper) == "builtins:str.upper"
