"""The documents say what is so: links lead somewhere, Python runs, commands are understood, and the site builds."""

import argparse
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from documents import PAGES, ROOT, Call, anchors, blocks, calls, links, shell_calls

from madrl import cli
from madrl.grading.verifiers import VERIFIERS
from madrl.recipe import recipe_of
from madrl.run_folder import RunFolder
from madrl.trainer.compose import compose

NOT_RUN = re.compile(r"not run: \S+ \S+ .+")
"""The comment before a Python block that is not run: with a reason, of three words at least."""

RUN_BY = {
    "bash examples/chances/run.sh": "tests/test_chances.py",
    "bash examples/pronouns/run.sh": "tests/test_pronouns.py",
    "bash recipes/lib/install.sh": "tests/recipes/test_install.py",
    "bash recipes/quickstart.sh": "tests/recipes/test_recipes.py",
    "bash sandbox/install.sh": "tests/sandbox/test_languages.py",
    "bash tests/run.sh": "CONTRIBUTING.md",
    "madrl alternatives": "tests/test_alternatives.py",
    "madrl card": "tests/test_hub.py",
    "madrl classify": "tests/grading/test_grade_file.py",
    "madrl doctor": "tests/test_doctor.py",
    "madrl evaluate": "tests/evaluation/test_evaluate_file.py",
    "madrl generate": "tests/sampling/test_generate.py",
    "madrl grid plan": "tests/test_own_task.py",
    "madrl grid retry": "tests/grid/test_grid_runs.py",
    "madrl grid run": "tests/test_own_task.py",
    "madrl grid status": "tests/grid/test_grid_runs.py",
    "madrl install cpu": "tests/test_packaging.py",
    "madrl install gpu": "tests/test_packaging.py",
    "madrl install sandbox": "tests/run.sh",
    "madrl rehearse": "tests/trainer/test_rehearsed_responses.py",
    "madrl report": "tests/test_own_task.py",
    "madrl run": "tests/test_own_task.py",
    "madrl temperature-sweep": "tests/recipes/test_recipes.py",
    "madrl train": "tests/trainer/test_real_trainer.py",
    "madrl verify": "tests/grading/test_grade_file.py",
    "madrl-sandbox": "tests/sandbox/test_deploy.py",
    "python -m madrl.grading.bench": "tests/grading/test_bench.py",
    "python -m madrl.grading.stalls": "tests/grading/test_stalls.py",
    "python -m sandbox": "tests/sandbox/test_command_line.py",
    "python tests/fault_drill.py": "docs/fault_drill.md",
    "python examples/group_reward.py": "tests/test_examples.py",
    "python examples/own_task/prepare.py": "tests/test_own_task.py",
    "python examples/prime_rl_score_group.py": "tests/test_examples.py",
    "python examples/pronouns/prepare.py": "examples/pronouns/run.sh",
    "python tests/redteam/table.py": "docs/red_team.md",
}
"""What the documents call -> where it is run for real, or, for what tests the tree itself, what comes of it. Recipes
that are not named are cells of the grid, which tests/recipes/test_recipes.py resolves."""

READERS_OWN = ("mine.yaml", "task.yaml")
"""Task files that a reader writes. Their place is taken by examples/own_task."""


def of_page(pages: Sequence[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages, ids=[str(page.relative_to(ROOT)) for page in pages])


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_another_host(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    built = list((tmp_path / "site").rglob("*.html"))
    assert len(built) > 25
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"?https?:|<link[^>]+rel=\"?(?:stylesheet|preconnect)[^>]+https?:"
    )
    assert [page.name for page in built if loaded.search(page.read_text("utf-8"))] == []


@of_page(PAGES)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in links(page):
        file = (page.parent / link.file).resolve() if link.file else page
        # What mkdocstrings makes of a name has no heading in the page's text: the strict build looks.
        is_name = link.anchor is not None and link.anchor.startswith("madrl.")
        if not file.exists() or (link.anchor and not is_name and link.anchor not in anchors(file)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("patch", sorted(ROOT.glob("docs/**/*.patch")), ids=lambda path: path.name)
def test_a_patch_that_a_page_offers_applies_to_the_code_beside_it(patch: Path) -> None:
    done = subprocess.run(["git", "apply", "--check", patch], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def shown() -> Iterator[tuple[Path, str, Path, str]]:
    """Blocks that show a file, or parts of it: page, how, file and text."""
    for page in PAGES:
        for block in blocks(page):
            how, _, name = block.note.partition(": ")
            if how in ("file", "excerpt"):
                yield page, how, ROOT / name, block.text


@pytest.mark.parametrize(("page", "how", "file", "text"), list(shown()), ids=lambda value: getattr(value, "name", ""))
def test_a_file_that_a_page_shows_is_shown_as_it_is(page: Path, how: str, file: Path, text: str) -> None:
    content = file.read_text("utf-8")
    if how == "file":
        assert text == content
        return
    rest = iter(content.splitlines())
    missing = [line for line in filter(None, text.splitlines()) if line not in rest]  # each behind the one before
    assert missing == []


WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


@of_page(WITH_PYTHON)
def test_a_page_s_python_runs_from_its_top_to_its_end(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        assert not block.note.startswith("not run") or NOT_RUN.fullmatch(block.note), "say why it is not run"
        # A file is run by its own tests, where its neighbours are.
        if block.language == "python" and not block.note.startswith(("not run", "file: ")):
            exec(compile(block.text, f"{page.name}: {block.text[:40]}", "exec"), names)


class Understood(BaseException):
    """Words have been read by a command's parser."""


@pytest.fixture
def only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands go no further than through their own parser, which raises Understood."""

    def stop_after(parse: Callable[..., Any]) -> Callable[..., NoReturn]:
        def read(parser: argparse.ArgumentParser, words: Sequence[str] | None = None, namespace: Any = None) -> Any:
            found = parse(parser, words, namespace)
            if parser.prog == "madrl":  # which reads the command's name
                return found
            raise Understood

        return read

    for name in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, name, stop_after(getattr(argparse.ArgumentParser, name)))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a reader, who has the repository's folders and has written a task file."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("examples", "recipes", "sandbox", "tests"):
        (folder / name).symlink_to(ROOT / name)
    task = (ROOT / "examples/own_task/task.yaml").read_text("utf-8").replace(" greeting:", " functions:")
    for name in READERS_OWN:
        (folder / name).write_text(task, encoding="utf-8")
    shutil.copy(ROOT / "examples/own_task/greeting.py", folder / "functions.py")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))  # to which a task's folder is added
    return folder


@pytest.mark.slow
@of_page(PAGES)
def test_every_command_of_a_page_is_understood(
    page: Path,
    workplace: Path,
    tmp_path: Path,
    only_read: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "shell").mkdir()
    for call in calls(page, tmp_path / "shell"):
        program, *words = call.words
        if "/outputs/" in (model := call.variables.get("MODEL", "")) or model.startswith("outputs/"):
            Path(model).mkdir(parents=True, exist_ok=True)  # a command before it makes it
        if program == "madrl":
            understand(call, capsys)
        elif program == "madrl-sandbox":
            understand_python(["-m", "sandbox", *words], monkeypatch)
        elif program == "python":
            understand_python(words, monkeypatch)
        elif program == "bash":
            understand_script(call, workplace, tmp_path / "shell", capsys)


def understand(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """Read a call of madrl, and, for a recipe, find out what it is."""
    try:
        cli.main(call.words[1:])
    except Understood:
        pass
    else:
        pytest.fail(f"{' '.join(call.words)}: {capsys.readouterr().err}")
    task, *overrides = call.words[2:] or [""]
    if call.words[1] == "run":
        recipe = recipe_of(call.words[2:], call.variables)
        # Those without keys of their own are resolved by tests/recipes/test_recipes.py.
        if task not in READERS_OWN and any("." in word.partition("=")[0] for word in overrides):
            compose(recipe.hydra_overrides())
    elif call.words[1] in ("doctor", "rehearse") and task and task.removeprefix("task=") not in READERS_OWN:
        compose(["paths.model=none", task, *(word for word in overrides if "=" in word)])


def understand_python(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a call of a module or a file; one that has no options must have been given none."""
    is_module = words[0] == "-m"
    name, arguments = (words[1], words[2:]) if is_module else (words[0], words[1:])
    file = source_of(name) if is_module else Path(name).resolve()
    if "ArgumentParser" not in file.read_text("utf-8"):
        assert not arguments, f"{name} has no options"
        return
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", [name, *arguments])
        patch.syspath_prepend(file.parent)
        with pytest.raises(Understood):
            runpy.run_path(str(file), run_name="__main__")


def source_of(module: str) -> Path:
    """The file that `python -m MODULE` runs."""
    spec = find_spec(module)
    assert spec is not None
    if spec.submodule_search_locations is not None:
        return source_of(f"{module}.__main__")
    assert spec.origin is not None
    return Path(spec.origin)


def understand_script(call: Call, workplace: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Read a call of a script; of a recipe, the call of madrl that it comes to."""
    script, *arguments = call.words[1:]
    subprocess.run(["/bin/bash", "-n", script], cwd=workplace, check=True)
    if "lib/run.sh" not in Path(script).read_text("utf-8") or "--help" in arguments:
        return
    path, own = "/usr/bin:/bin", {name: value for name, value in call.variables.items() if name.isupper()}
    [*_, came_to] = shell_calls(str(workplace / script), *arguments, folder=folder, path=path, **own)
    understand(Call(["madrl", "run", *came_to.words[3:]], came_to.variables), capsys)


def test_every_command_of_the_documents_is_run_by_a_test(tmp_path: Path) -> None:
    named = {call.name for page in PAGES for call in calls(page, tmp_path)}
    cells = {name for name in named if name.startswith("bash recipes/")} - RUN_BY.keys()
    assert named - cells == RUN_BY.keys()
    for name, where in RUN_BY.items():
        word = name.split()[-1].rpartition("/")[2].removesuffix(".sh").rpartition(".")[2]
        assert re.search(re.sub("[-_]", "[-_]", word), (ROOT / where).read_text("utf-8")), f"{where} has no {word}"


def test_the_page_of_the_command_line_has_every_command() -> None:
    table = (ROOT / "docs/command_line.md").read_text("utf-8")
    assert set(re.findall(r"^\| `madrl ([\w-]+)", table, re.MULTILINE)) == set(cli.COMMANDS)


def test_the_table_of_verifiers_is_the_built_in_ones() -> None:
    section = (ROOT / "docs/classifiers.md").read_text("utf-8").partition("## The verifiers\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == [*VERIFIERS]


def test_the_page_on_what_a_run_leaves_names_what_it_leaves() -> None:
    section = (ROOT / "docs/getting_started.md").read_text("utf-8").split("## 3.")[1].split("## 4.")[0]
    named = set(re.findall(r"`([\w.]+)/?`", section.partition("| |")[2].partition("\n\n")[0]))
    paths = {path.name for path in vars(RunFolder("RUN")).values() if isinstance(path, Path)}
    assert named
    assert named <= paths


def test_the_numbers_to_expect_of_the_recipes_are_those_in_their_heads() -> None:
    text = (ROOT / "recipes/README.md").read_text("utf-8")
    checked = 0
    for section in text.split("## ")[1:]:
        rows = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")
        ]
        if not (found := re.match(r"`(\w+)_TARGET_DIVERGENCE\.sh`", rows[0][0])):
            continue
        for first, *cells in rows[2:]:
            name = re.match(r"`(\w+)`", first)
            assert name is not None
            for target, cell in zip(("uniform", "peak"), cells, strict=True):
                both = ROOT / f"recipes/{found[1]}_{target}_{name[1]}.sh"
                head = (both if both.exists() else ROOT / f"recipes/{found[1]}_{name[1]}.sh").read_text("utf-8")
                for number in re.findall(r"\d\.\d+", cell):
                    assert re.search(rf"\b{re.escape(number)}\b", head), f"{number} is not in the head of {both.name}"
                    checked += 1
    assert checked == 3 * (8 * 3 + 2 * 2) + 2 * (8 * 2), "three numbers of a cell of the real tasks, two of all others"
