"""A hook of the documentation's site: a link to a file of the repository that is no page becomes the file's name.

In the repository such links lead to the file. The site has pages and pictures only, and its build is strict.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(^|\n)```.*?\n```", re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text as the site has it (mkdocs calls this by its name)."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        path = (folder / link["target"]).resolve()
        is_page = path.suffix in (".md", ".png") and path.is_relative_to(ROOT / "docs")
        if "://" in link["target"] or is_page or not path.exists():
            return link[0]
        name = f"`{path.relative_to(ROOT)}`"
        text = link["text"].strip("`")
        return name if text in name else f"{link['text']} ({name})"

    return LINK.sub(named, markdown)
