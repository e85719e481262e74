"""A plot is data: both renderers draw what may be in it, and say the same."""

import json
from pathlib import Path

import pytest

from madrl.report.drawing import draw
from madrl.report.interactive import plot_data
from madrl.report.panels import Level, Panel, Plot, Series

CURVE = Series("rkl", "line", [0, 10, 20, 30], [0.5, float("inf"), None, 0.0], "#009E73", weak=True, markers=True)
BARS = Series("jsd", "bars", ["en", "zh"], [0.4, None], "#E69F00", [0.3, None], [0.5, None], ["2 of 5", "1 of 3"])
NAMES = Series("POINTS", "points", ["step 0"], [None], "#0072B2", [None], [None], ["no on-support response"])
FLOOR = Level("floor at n=4: mean to p95", 0.01, 0.02)


@pytest.mark.parametrize("title", ["", "a run"])
def test_a_panel_with_gaps_infinities_and_zeros_is_drawn(tmp_path: Path, title: str) -> None:
    panels = [
        Panel(["curves", "JSD"], [CURVE], "JSD", "training step", [FLOOR], "runs there: rkl 1 of 2", log=True),
        Panel(["bars"], [BARS], "share", levels=[Level("target", 0.5, 0.5, place=0)], top=1.0),
        Panel(["points"], [NAMES], "JSD", levels=[FLOOR._replace(place=0)], log=True),
    ]
    draw(panels, 2, {"png": tmp_path / "a", "pdf": tmp_path / "b"}, title)
    assert (tmp_path / "a").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a").stat().st_size > 10_000
    assert (tmp_path / "b").read_bytes().startswith(b"%PDF")


def test_categories_may_look_like_formulas_and_numbers(tmp_path: Path) -> None:
    for names in (["$5_to_$10", "$x^$"], ["1", "2"]):
        bars = Series("$a_$ or $", "bars", names, [0.4, 0.6], "#E69F00")
        draw([Panel(["shares"], [bars], "share")], 1, {"png": tmp_path / "a"})
        [choice] = plot_data(Plot("p", "", "", [Panel(["shares"], [bars], "share")]))["choices"]
        assert choice["layout"]["xaxis"]["type"] == "category"
    [choice] = plot_data(Plot("p", "", "", [Panel(["curves"], [CURVE], "JSD")]))["choices"]
    assert "type" not in choice["layout"]["xaxis"]


def test_a_page_has_gaps_where_a_curve_is_infinite_and_a_dot_where_a_bar_is_missing() -> None:
    few = Series(BARS.name, "bars", BARS.x, BARS.y, BARS.color, notes=BARS.notes, dots="below 30 graded responses")
    panels = [Panel(["curves"], [CURVE], "JSD", levels=[FLOOR], log=True), Panel(["bars"], [few], "pass@1")]
    curves, bars = json.loads(json.dumps(plot_data(Plot("p", "", "", panels)), allow_nan=False))["choices"]
    assert curves["data"][0]["y"] == [0.5, None, None, 0.0]
    assert curves["data"][0]["line"]["dash"] == "dot"
    assert curves["layout"]["shapes"][0]["label"]["text"] == "floor at n=4: mean to p95"
    assert [trace["y"] for trace in bars["data"]] == [[0.4, None], [None, 0.0]]
    assert bars["data"][1]["text"] == ["", "●"]
