"""One self-contained HTML page: style, data, plots and plotly.js in one file that needs no network.

A page shows text from outside, the responses of a policy among it. All of it is escaped where it is put in; should one
be missed, the page's content security policy lets nothing run but our own two scripts, by their hashes, and nothing be
fetched. plotly.js is the basic bundle (1.2 MB) as gzip in base64 (0.5 MB); the browser unpacks it.
"""

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from madrl import __version__
from madrl.report.interactive import plot_data
from madrl.report.panels import Plot

ASSETS = files("madrl.report") / "assets"

PLOTLY = "plotly-basic.min.js.gz"
"""plotly.js-basic-dist-min 4.1.1 from npm, unmodified, gzip -9 -n; its licence (MIT) lies beside it."""


def page(title: str, body: str, plots: Sequence[Plot]) -> str:
    """The whole page. ``body`` is HTML in which every text from outside is escaped already."""
    script = (ASSETS / "page.js").read_text(encoding="utf-8")
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    packed = (ASSETS / PLOTLY).read_bytes()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"script-src '{_hash(script.encode())}' '{_hash(gzip.decompress(packed))}'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{text(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<footer>madrl {__version__}. Everything on this page was computed from the dumps of the runs it names. Plots:
plotly.js, Copyright Plotly, Inc., MIT licence.</footer>
<script type="application/json" id="plots">{_json([plot_data(plot) for plot in plots])}</script>
<script type="text/plain" id="plotly">{base64.b64encode(packed).decode()}</script>
<script>{script}</script>
</body>
</html>
"""


def plot_section(plot: Plot) -> str:
    """Where a plot goes, with its title and caption."""
    return (
        f'<section><h2>{text(plot.title)}</h2><div class="plot" id="plot-{text(plot.name)}">This plot needs '
        f'JavaScript.</div><p class="caption">{text(plot.caption)}</p></section>'
    )


def text(value: Any) -> str:
    """Anything as HTML text: escaped, and its control characters made visible (U+2400 and up), tabs and line ends
    left. A lone surrogate, which JSON can hold and UTF-8 cannot, becomes U+FFFD."""
    shown = "".join(
        chr(0x2400 + ord(c)) if ord(c) < 0x20 and c not in "\t\n" else "\ufffd" if 0xD800 <= ord(c) < 0xE000 else c
        for c in str(value).replace("\r\n", "\n")
    )
    return html.escape(shown)


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in. Raises ValueError for NaN and infinities."""
    plain = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}"
