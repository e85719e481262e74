"""The base install: what is not installed is asked for by the name of its extra, where it is first needed."""

import asyncio
import importlib.util
from collections.abc import Callable
from importlib.machinery import ModuleSpec

import pytest

from madrl.errors import MadrlError
from madrl.extras import EXTRAS, require
from madrl.grading.classifiers import load_classifier
from madrl.grading.languages.language import _classify, _loaded_detector, _scores, classify_language
from madrl.grading.math_answers.math_answer import verify_math
from madrl.grading.math_answers.worker_pool import default_pool
from madrl.grading.verifiers import load_verifier
from madrl.rollout import Rollout


@pytest.fixture
def base_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which no module of an extra can be found."""
    optional = {module for modules in EXTRAS.values() for module in modules}
    found = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in optional else found(name, package)

    monkeypatch.setattr("madrl.extras.find_spec", find_spec)
    for cached in (_loaded_detector, _scores, _classify, default_pool):
        cached.cache_clear()


@pytest.mark.usefixtures("base_install")
@pytest.mark.parametrize(
    ("load", "name", "module", "extra"),
    [
        (load_classifier, "language", "py3langid", "language"),
        (load_classifier, "programming_language", "tree_sitter", "programs"),
        (load_verifier, "math", "math_verify", "math"),
        (load_verifier, "code", "tree_sitter", "programs"),
        (load_classifier, "llm", "httpx", "judges"),
        (load_verifier, "llm", "httpx", "judges"),
    ],
)
def test_what_needs_an_extra_says_so_when_it_is_loaded(
    load: Callable[[str], object], name: str, module: str, extra: str
) -> None:
    with pytest.raises(MadrlError, match=rf'^{module} is not installed: pip install "madrl\[{extra}\]"$'):
        load(name)


@pytest.mark.usefixtures("base_install")
def test_a_function_that_is_called_without_being_loaded_says_so_too() -> None:
    with pytest.raises(MadrlError, match=r"madrl\[language\]"):
        classify_language(Rollout("We write down what is given.", ""))
    with pytest.raises(MadrlError, match=r"madrl\[math\]"):
        asyncio.run(verify_math(Rollout(r"\boxed{\sin^2 x + \cos^2 x}", "1")))


@pytest.mark.usefixtures("base_install")
def test_a_model_needs_one_extra_here_and_another_where_it_is_served() -> None:
    here = {"model": "m", "labels": {"good": "good"}}
    with pytest.raises(MadrlError, match=r'torch is not installed: pip install "madrl\[models\]"'):
        load_classifier("text_classification", here)
    with pytest.raises(MadrlError, match=r'httpx is not installed: pip install "madrl\[judges\]"'):
        load_classifier("text_classification", {**here, "url": "http://host:8000"})
    with pytest.raises(MadrlError, match=r"madrl\[models\]"):
        load_verifier("reward_model", arguments={"model": "m"})


@pytest.mark.usefixtures("base_install")
def test_choosing_among_listed_options_and_exact_matches_need_no_extra() -> None:
    load_classifier("choice")
    load_verifier("listed_option")
    load_verifier("exact_match")


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_module_of_an_extra_is_known_by_its_right_name(extra: str) -> None:
    require(extra)
