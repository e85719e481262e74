"""The documents taken apart for tests/test_docs.py: pages, blocks, headings, links, and what a shell would call."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "recipes/*.md", "sandbox/**/*.md", "examples/*/*.md")
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md"
)

FENCE = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
HEADING = re.compile(r"^#{1,6} +(?P<text>.*?) *#*$", re.MULTILINE)
LINK = re.compile(r"\]\((?P<file>[^)\s#]*)(?:#(?P<anchor>[^)\s]+))?\)")


class Block(NamedTuple):
    """A fenced block, with the comment that stands on the line before it."""

    note: str
    language: str
    text: str


class Link(NamedTuple):
    """Where a link or a picture leads inside the repository; without a file, into its own page."""

    file: str
    anchor: str | None


def blocks(page: Path) -> list[Block]:
    """The page's fenced blocks, in order."""
    found = FENCE.finditer(page.read_text("utf-8"))
    return [Block(match["note"] or "", match["language"], match["text"]) for match in found]


def links(page: Path) -> Iterator[Link]:
    """The page's links into the repository; those to other hosts are left out, as are blocks and code in a line."""
    for match in LINK.finditer(_prose(page)):
        if "://" not in match["file"]:
            yield Link(match["file"], match["anchor"])


def anchors(page: Path) -> set[str]:
    """The names under which a forge like GitHub links the page's headings."""
    return {_slug(match["text"]) for match in HEADING.finditer(FENCE.sub("", page.read_text("utf-8")))}


def _prose(page: Path) -> str:
    without_blocks = re.sub(r"^    .*$", "", FENCE.sub("", page.read_text("utf-8")), flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "code", without_blocks)


def _slug(heading: str) -> str:
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link's text
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


# What a shell would call. A page's commands are run by bash itself, so that loops, quotes and pipes are read as by a
# user's shell; but no program is found, and every call is only written down.

PROGRAMS = ("madrl", "madrl-sandbox", "python", "bash")
"""Ours, or what runs a file of ours."""

OTHERS = (
    "cat", "chmod", "curl", "git", "mkdocs", "mktemp", "openssl", "pip", "podman", "pre-commit", "printf", "python3.11",
    "rm", "vllm",
)  # fmt: skip
"""Programs of others that the documents call."""

IS_SHELL = re.compile(rf"^(?:for \w+ in|(?:[A-Z_]+=\S* )*(?:{'|'.join((*PROGRAMS, *OTHERS))})) ", re.MULTILINE)
OF_ENVIRONMENT = re.compile(r"(?<!\S)\.?venv/bin/")

PRELUDE = """
written_down() {
  local name variables=()
  for name in $(compgen -e); do variables+=("$name=${!name}"); done
  printf '%s\\0' "$#" "$@" "${#variables[@]}" "${variables[@]}" >>"$WRITTEN"
}
command_not_found_handle() { written_down "$@"; }
exec() { written_down "$@"; }
cd() { :; }
.() { :; }
"""


class Call(NamedTuple):
    """A program's name and arguments, and the environment that it would have had."""

    words: list[str]
    variables: dict[str, str]

    @property
    def name(self) -> str:
        """What is called, without its arguments: ``madrl run``, ``python -m sandbox``, ``bash tests/run.sh``."""
        has_part = self.words[1:2] == ["-m"] or self.words[:2] in (["madrl", "grid"], ["madrl", "install"])
        return " ".join(self.words[: 1 if self.words[0] == "madrl-sandbox" else 3 if has_part else 2])


def calls(page: Path, folder: Path) -> list[Call]:
    """How the page's commands, in bash blocks and in indented ones, call our programs. ``folder`` is empty."""
    script = "\n".join(_shell_paragraphs(page))
    found = shell_calls("-c", OF_ENVIRONMENT.sub("", script), folder=folder)
    if unknown := [call.words[0] for call in found if call.words[0] not in (*PROGRAMS, *OTHERS)]:
        raise AssertionError(f"{page.name} calls {unknown[0]}: name it in OTHERS, or mend the page")
    return [call for call in found if call.words[0] in PROGRAMS]


def _shell_paragraphs(page: Path) -> Iterator[str]:
    yield from (block.text for block in blocks(page) if block.language == "bash")
    for lines in re.findall(r"(?:^    .*\n)+", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE):
        if IS_SHELL.search(paragraph := re.sub(r"^    ", "", lines, flags=re.MULTILINE)):
            yield paragraph


def shell_calls(*arguments: str, folder: Path, path: str = "/nowhere", **variables: str) -> list[Call]:
    """What bash with these arguments calls, or would put into its place, when it finds programs in ``path`` only.

    Raises AssertionError for what bash cannot read."""
    prelude, written = folder / ".prelude", folder / ".written"
    prelude.write_text(f"PATH={path}\nWRITTEN={written}\n{PRELUDE}", encoding="utf-8")
    written.write_bytes(b"")
    environment = {"BASH_ENV": str(prelude), **variables}
    command = ["/bin/bash", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.stderr:
        raise AssertionError(f"{arguments}: {done.stderr}")
    fields = iter(written.read_text("utf-8").split("\0")[:-1])
    found = []
    for count in fields:
        words = [next(fields) for _ in range(int(count))]
        pairs = [next(fields).partition("=") for _ in range(int(next(fields)))]
        found.append(Call(words, {name: value for name, _, value in pairs}))
    return found
