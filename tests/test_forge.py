"""What GitHub reads: workflows, issue forms, the citation, and the files that image builds copy."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
DOCKERFILES = sorted((REPOSITORY / "docker").glob("*.Dockerfile"))
SCRIPT = re.compile(r"bash ([\w./-]+)")


def read(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=name_of)
def test_a_workflow_runs_scripts_of_ours_on_the_python_that_is_locked_within_a_time(workflow: Path) -> None:
    content = read(workflow)
    assert content["permissions"]["contents"] == "read"
    assert content[True]  # YAML 1.1 reads the key `on` as a truth value
    for job in content["jobs"].values():
        assert job["runs-on"] == "ubuntu-latest"
        assert 0 < job["timeout-minutes"] <= 360
        actions = {step["uses"]: step.get("with", {}) for step in job["steps"] if "uses" in step}
        assert all(re.fullmatch(r"actions/(cache|checkout|setup-python)@v\d+", action) for action in actions), actions
        [python] = [values["python-version"] for values in actions.values() if "python-version" in values] or [
            job["container"]["image"].removeprefix("python:").partition("-")[0]
        ]
        assert python == "3.11"
        for file in re.findall(r"\S+\.(?:toml|txt)", str(actions).replace("'", " ").replace("\\n", " ")):
            assert (REPOSITORY / file).exists(), file
        scripts = [script for step in job["steps"] for script in SCRIPT.findall(step.get("run", ""))]
        assert scripts
        for script in scripts:
            subprocess.run(["bash", "-n", script], cwd=REPOSITORY, check=True)


def test_the_suite_s_workflow_runs_what_ci_runs_and_uploads_nothing() -> None:
    path = REPOSITORY / ".github" / "workflows" / "ci.yml"
    text, content = path.read_text(encoding="utf-8"), read(path)
    assert content[True]["schedule"]
    when = {step["run"]: step["if"] for step in content["jobs"]["suite"]["steps"] if ".ci/run" in step.get("run", "")}
    assert when == {
        "bash .ci/run": "github.event_name != 'schedule'",
        "bash .ci/run -m nightly": "github.event_name == 'schedule'",
    }
    assert not re.search("upload|secrets", text.replace("Nothing is uploaded", ""))


def test_the_newest_verl_is_held_against_the_seam_and_against_the_version_that_is_pinned() -> None:
    script = (REPOSITORY / ".github" / "newest_verl.sh").read_text(encoding="utf-8")
    found = re.search(r"--deselect \\\n +(\S+)::(\w+)", script)
    assert found
    assert f"def {found[2]}()" in (REPOSITORY / found[1]).read_text(encoding="utf-8")
    pinned = subprocess.run(
        ["sed", "-n", "s/^TAG=v//p", "REQUIRED_VERL.txt"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"[\d.]+\n", pinned.stdout)


@pytest.mark.parametrize("form", FORMS, ids=name_of)
def test_an_issue_form_asks_questions_of_different_names(form: Path) -> None:
    content = read(form)
    assert content.keys() >= {"name", "description", "body"}
    names = [field["id"] for field in content["body"]]
    assert len(set(names)) == len(names)
    assert any(field["validations"]["required"] for field in content["body"])


def test_the_citation_names_the_paper_as_the_readme_does() -> None:
    paper = read(REPOSITORY / "CITATION.cff")["preferred-citation"]
    readme = " ".join((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    assert paper["title"] in readme
    assert paper["authors"][0]["family-names"] in readme


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=name_of)
def test_an_image_is_said_not_to_be_built_in_ci_and_runs_scripts_that_it_has(dockerfile: Path) -> None:
    text = dockerfile.read_text(encoding="utf-8")
    assert "Not built in CI" in text
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").split()
    scripts = re.findall(r"(?:recipes|examples)/[\w/]+\.sh", text)
    assert scripts
    for script in scripts:
        assert (REPOSITORY / script).exists()
        assert script.partition("/")[0] not in ignored
