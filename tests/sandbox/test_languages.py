"""The name that a source file must have, and the compiled file that is run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.classfile import main_class
from sandbox.languages import LANGUAGES, language_of
from sandbox.source_names import java_source_name, javascript_source_name

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("public class Foo { }", "Foo.java"),
        ("class Foo { }", "Main.java"),
        ("// public class No {}\npublic final class Yes {}", "Yes.java"),
        ('class A { String s = "public class No {"; }\npublic record Yes(int x) {}', "Yes.java"),
        ("class A { public static class Inner {} }\npublic  abstract   class Outer {}", "Outer.java"),
        ("/* { */ public interface Größe { }", "Größe.java"),
        ("class A { char c = '{'; }\npublic enum E { X }", "E.java"),
        ("public class " + "x" * 400 + " {}", "Main.java"),
        ("", "Main.java"),
    ],
)
def test_javas_public_class_names_the_file(code: str, name: str) -> None:
    assert java_source_name(code) == name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("const fs = require('fs')", "main.js"),
        ("import fs from 'fs'", "main.mjs"),
        ("import 'x'\n", "main.mjs"),
        ("import { a } from 'b'", "main.mjs"),
        ("import * as fs from 'fs'\nconst x = require('y')", "main.js"),
        ("const important = 1", "main.js"),
        ("export default 3", "main.mjs"),
        ('import{readFileSync}from"fs"', "main.mjs"),
        ("import*as fs from'fs'", "main.mjs"),
        ("'use strict'; let n = 1; import { a } from 'b';", "main.mjs"),
        ("const s = 'x'; export { s }", "main.mjs"),
        ("/* read */ import fs from 'fs' // and not require('fs')", "main.mjs"),
        ("/*\nimport fs from 'fs'\n*/\nwith (Math) console.log(abs(-1))", "main.js"),
        ("const s = `\nimport fs from 'fs'\nexport default ${1}`", "main.js"),
        ("const s = 'a\\\nimport b from c'", "main.js"),
        ("const a = \"; import 'x'\"", "main.js"),
        ("import('fs').then(console.log)", "main.js"),
        ("x = { export: 1, import: 2 }; exports = important", "main.js"),
    ],
)
def test_javascript_that_imports_is_a_module(code: str, name: str) -> None:
    assert javascript_source_name(code) == name


def test_names_and_aliases_are_found_in_any_case() -> None:
    assert language_of("C++") == "cpp"
    assert language_of("Python3") == "python"
    assert language_of("nodejs") == "javascript"
    assert language_of("C") == "c"
    assert language_of("cobol") is None
    names = [*LANGUAGES, *(alias for row in LANGUAGES.values() for alias in row.aliases)]
    assert len(names) == len(set(names))


def test_what_to_install_is_read_from_the_table_by_any_python_without_packages() -> None:
    listed = subprocess.run(
        [sys.executable, "-S", "-m", "sandbox.languages"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    assert [row[0] for row in rows] == list(LANGUAGES)
    assert ["rust", "rustc", "rustc", "on-request"] in rows
    assert ["cpp", "g++", "g++", "usual"] in rows
    refused = subprocess.run(
        ["bash", ROOT / "sandbox/install.sh", "cobol"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 2
    assert f"use some of {' '.join(LANGUAGES)} firejail" in refused.stderr


def _classes(folder: Path, source: str) -> dict[str, bytes]:
    (folder / "T.java").write_text(source)
    subprocess.run(["javac", "-d", folder / "out", folder / "T.java"], check=True)
    return {str(f.relative_to(folder / "out")): f.read_bytes() for f in (folder / "out").rglob("*.class")}


MAIN = "public static void main(String[] a) { long x = 1L; double d = 2.0; Runnable r = () -> {}; }"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A { MAIN }", "A"),
        ("class A { MAIN } class Main { MAIN }", "Main"),
        ("class A { MAIN } public class T { MAIN }", "T"),
        ("package p.q; class A {} class B { int f; static class C {} MAIN }", "p.q.B"),
        ("class A { public static void main() {} } class B { public static void main(String... a) {} }", "B"),
        ("interface I { static void x() {} static void main(String[] a) {} }", "I"),
        ("class B { public static class A { MAIN } MAIN }", "B"),
        ("class Z { public static class Main { MAIN } } class B { MAIN }", "B"),
        ("class Z { static class A { MAIN } public static class B { MAIN } }", "Z$B"),
        ("class Z { MAIN }\nclass A { MAIN }", "Z"),
        ("class A { public static native void main(String[] a); }", "A"),
    ],
)
def test_the_class_with_a_main_method_is_run(tmp_path: Path, source: str, expected: str) -> None:
    assert main_class(_classes(tmp_path, source.replace("MAIN", MAIN))) == expected


@pytest.mark.sandbox
def test_without_a_main_method_there_is_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="public static void main"):
        main_class(_classes(tmp_path, "class A { static void main(String[] a) {} }"))
