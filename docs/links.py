"""A hook of the documentation's site: a link to a file of the repository that the site lacks becomes the file's name.

In the repository such links lead to the file. The site has what lies in docs/ only, and its build is strict.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, files: Any, **_: Any) -> str:
    """The page's text as the site has it (mkdocs calls this by its name)."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        path = (folder / link["target"]).resolve()
        if "://" in link["target"] or not path.exists():
            return link[0]  # of another host, or broken, which the strict build says
        if path.is_relative_to(ROOT / "docs"):
            file = files.get_file_from_path(path.relative_to(ROOT / "docs").as_posix())
            if file is not None and not file.inclusion.is_excluded():
                return link[0]
        name = f"`{path.relative_to(ROOT)}`"
        text = link["text"].strip("`")
        return name if text in name else f"{link['text']} ({name})"

    return LINK.sub(named, markdown)
