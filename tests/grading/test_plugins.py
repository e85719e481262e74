import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.grading.choice import classify_choice, verify_listed_option
from madrl.grading.classifiers import CLASSIFIERS, load_classifier
from madrl.grading.plugins import load_plugin, name_of
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


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_built_in_classifier_loads(name: str) -> None:
    assert callable(load_classifier(name))


@pytest.mark.parametrize("name", VERIFIERS)
def test_every_built_in_verifier_loads(name: str) -> None:
    assert callable(load_verifier(name))


def test_the_users_own_classifier_is_called() -> None:
    assert load_classifier("users_plugins:classify_length")(Rollout("abcd", "")) == Classification("long")


@pytest.mark.parametrize("name", ["verify_anything", "verify_object", "verify_without_async", "verify_plain_object"])
async def test_the_users_own_verifier_is_awaited(name: str) -> None:
    assert (await load_verifier(f"users_plugins:{name}")(Rollout("abcd", ""))).verdict in ("correct", "incorrect")


def test_a_classifier_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(MadrlError, match="classifier 'users_plugins:LIMIT' is a int: name a function"):
        load_classifier("users_plugins:LIMIT")


def test_a_verifier_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(MadrlError, match="verifier 'users_plugins:LIMIT' is a int: name a function"):
        load_verifier("users_plugins:LIMIT")


def test_a_classifier_that_is_async_is_refused_before_the_run() -> None:
    with pytest.raises(MadrlError, match="'users_plugins:verify_anything' is async: write it as 'def'"):
        load_classifier("users_plugins:verify_anything")


def test_a_function_with_bound_arguments_is_called_by_its_own_name() -> None:
    assert name_of(functools.partial(functools.partial(load_plugin, kind="x"), extras={})) == name_of(load_plugin)
    assert name_of(str.upper) == "builtins:str.upper"
