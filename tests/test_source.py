"""The version of code: what counts as a change of a module, and which modules a plug-in's version is made of."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from madrl.source import digest, plugin_modules, statements


def test_comments_docstrings_and_layout_are_no_statements() -> None:
    one = 'X = 1  # why\n"""What X is."""\n\ndef f(a):\n    """Doc."""\n    return a + X\n'
    two = "X=1\ndef f(a): return (a + X)\n"
    assert statements(one) == statements(two)
    assert statements(one) != statements(two.replace("1", "2"))
    assert statements('def f():\n    """Only this."""\n') == statements("def f():\n    pass\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's with a package, whose modules are forgotten in the end."""
    files = {
        "pkg/__init__.py": "from .rules import RULES\n",
        "pkg/rules.py": "RULES = 1\n",
        "pkg/deep/__init__.py": "",
        "pkg/deep/plugin.py": "import json\nimport numpy\nfrom .. import rules\nfrom ..far import far\nimport beside\n",
        "pkg/far.py": "def far():\n    from madrl.grading.math_answers.quantities import parse\n",
        "beside.py": "X = 1\n",
        "unrelated.py": "X = 1\n",
    }
    for name, source in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("pkg", "beside", "lonely"):
            del sys.modules[name]


def test_a_plug_in_s_code_is_its_module_and_what_that_imports_of_its_own_and_of_ours(folder: Path) -> None:
    importlib.import_module("pkg.deep.plugin")
    found = plugin_modules("pkg.deep.plugin")
    own = {name for name in found if not name.startswith("madrl.")}
    assert own == {"pkg", "pkg.rules", "pkg.deep.plugin", "pkg.far", "beside"}
    assert "madrl.grading.math_answers.quantities" in found
    before = digest(found)
    (folder / "unrelated.py").write_text("X = 2\n")
    assert digest(plugin_modules("pkg.deep.plugin")) == before
    (folder / "pkg" / "rules.py").write_text("RULES = 2\n")
    assert digest(plugin_modules("pkg.deep.plugin")) != before


def test_what_lies_beside_an_installed_plug_in_is_not_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = folder / "site-packages"
    installed.mkdir()
    (installed / "lonely.py").write_text("import beside\n")
    (folder / "beside.py").rename(installed / "beside.py")
    monkeypatch.syspath_prepend(str(installed))
    importlib.import_module("lonely")
    assert set(plugin_modules("lonely")) == {"lonely"}


def test_a_module_that_is_no_python_source_counts_by_its_bytes(tmp_path: Path) -> None:
    compiled = tmp_path / "compiled.so"
    compiled.write_bytes(b"\x7fELF\x00one")
    before = digest({"compiled": compiled})
    compiled.write_bytes(b"\x7fELF\x00two")
    assert digest({"compiled": compiled}) != before
