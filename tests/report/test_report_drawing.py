"""A plot is data: both renderers draw what may be in it, and say the same."""

import json
import re
from pathlib import Path
from typing import Any

import matplotlib.figure
import pytest
from made_runs import Made, write_jsonl, write_run

from madrl.evaluation.dumps import Run
from madrl.report.drawing import draw
from madrl.report.interactive import plot_data
from madrl.report.panels import COLORS, INK, Level, Panel, Plot, Series
from madrl.report.run_plots import run_plots

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
    assert curves["data"][0]["y"] == [0.5, None, None, 0.01 / 1.5]  # a logarithmic axis has no 0: below the floor
    assert curves["data"][0]["customdata"] == ["", "", "", " (is 0)"]
    assert curves["data"][0]["line"]["dash"] == "dot"
    assert curves["layout"]["shapes"][0]["label"]["text"] == "floor at n=4: mean to p95"
    assert [trace["y"] for trace in bars["data"]] == [[0.4, None], [None, 0.0]]
    assert bars["data"][1]["text"] == ["", "●"]


def test_a_curve_s_band_has_no_zeros_on_a_logarithmic_axis_of_a_page() -> None:
    for y, low, high in (([0.3, 0.01], [0.2, 0.0], [0.4, 0.02]), ([0.3, 0.0], [0.2, 0.0], [0.4, 0.0])):
        curve = Series("rkl", "line", [0, 10], y, "#009E73", low, high)
        [choice] = plot_data(Plot("p", "", "", [Panel(["curves"], [curve], "JSD", log=True)]))["choices"]
        edge = min(value for value in (*y, *low, *high) if value) / 1.5
        drawn = [[value or edge for value in values] for values in (low, high, y)]
        assert [trace["y"] for trace in choice["data"]] == drawn
    # Its band has nothing to do with its other axis.
    curve = Series("rkl", "line", [0, 10], [0.3, 0.0], "#009E73", [0.2, 0.0], [0.4, 0.0])
    [choice] = plot_data(Plot("p", "", "", [Panel(["curves"], [curve], "JSD", log_x=True)]))["choices"]
    assert [trace["y"] for trace in choice["data"]] == [[0.2, 0.0], [0.4, 0.0], [0.3, 0.0]]


def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[matplotlib.figure.Figure]:
    """Every figure that is saved from now on."""
    figures: list[matplotlib.figure.Figure] = []
    save = matplotlib.figure.Figure.savefig

    def kept(figure: matplotlib.figure.Figure, *args: Any, **more: Any) -> None:
        figures.append(figure)
        save(figure, *args, **more)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", kept)
    return figures


def test_panels_that_share_an_axis_have_room_for_what_is_highest_in_any_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = drawn_figures(monkeypatch)
    low = Panel(["low"], [Series("rkl", "bars", ["en", "zh"], [0.2, 0.3], "#009E73")], "share")
    high = Panel(["high"], [BARS], "share", levels=[Level("target", 0.9, 0.9, place=0)])
    draw([low, high, low], 3, {"png": tmp_path / "a"})
    (figure,) = figures
    limits = [axes.get_ylim() for axes in figure.axes]
    assert {bottom for bottom, _ in limits} == {0.0}
    assert all(0.9 < top < 1.0 for _, top in limits)


def own_categories(root: Path, names: list[str], target: str) -> None:
    config = root / "config.yaml"
    text = config.read_text().replace("[en, zh, es, hi, fr]", f"[{', '.join(names)}]")
    config.write_text(text.replace("target: uniform", f"target: {target}"))


def test_a_category_called_all_has_its_own_accuracy(tmp_path: Path) -> None:
    root = write_run(Made(problems=2), tmp_path)
    own_categories(root, ["all", "b"], "uniform")
    for step in range(1, 41):  # Of each category 40 responses, "all" always right and "b" never.
        scores = [{"group": "p", "category": name, "correct": name == "all"} for name in ("all", "b", None)]
        write_jsonl(root / "scores" / f"{step}.jsonl", [score for score in scores for _ in range(30)])
    (panel,) = next(plot for plot in run_plots(Run.load(root), {}, []) if plot.name == "accuracy").panels
    found = {series.name: set(series.y) for series in panel.series}
    assert found == {"all responses": {1 / 3}, "all": {1.0}, "b": {0.0}}


def test_categories_of_one_colour_have_other_dashes_and_a_target_is_in_the_colour_of_its_category(
    tmp_path: Path,
) -> None:
    root, names = write_run(Made(problems=2), tmp_path), [f"c{number}" for number in range(10)]
    own_categories(root, names, "{c0: 1, c1: 3}")
    history = {1: {f"mad/share/{name}": 0.1 for name in names}}
    (panel,) = run_plots(Run.load(root), history, [])[0].panels
    assert len({(series.color, series.dash) for series in panel.series}) == 10
    assert {level.low: level.color for level in panel.levels} == {0.0: INK, 0.25: COLORS[0], 0.75: COLORS[1]}
    assert panel.top is None
    draw([panel], 1, {"png": tmp_path / "a"}, "a run")
    (choice,) = plot_data(Plot("p", "", "", [panel]))["choices"]
    assert len({(trace["line"]["color"], trace["line"]["dash"]) for trace in choice["data"]}) == 10


def test_the_names_of_many_categories_stand_upright_below_a_wide_figure_and_only_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = drawn_figures(monkeypatch)
    for number in (5, 40, 1000):
        names = [f"category number {place}" for place in range(number)]
        bars = Series("rkl", "bars", names, [0.1] * number, "#009E73")
        draw([Panel(["shares"], [bars], "share")], 1, {"png": tmp_path / "a"})
    few, many, very_many = ([label for axes in figure.axes for label in axes.get_xticklabels()] for figure in figures)
    assert [len(few), len(many)] == [5, 40]
    assert 300 < len(very_many) < 1000
    assert {label.get_rotation() for label in few + many + very_many} == {90.0}
    assert [figure.get_figwidth() for figure in figures] == [5.5, 10.0, 100.0]
    draw([Panel(["shares"], [BARS], "share")], 1, {"png": tmp_path / "a"})
    assert {label.get_rotation() for label in figures[-1].axes[0].get_xticklabels()} == {0.0}


ALIKE = [f"strongly agree with option {place}" for place in range(12)]
IN_THE_MIDDLE = [f"what is in the middle: {place} of one and of all" for place in range(12)]
WIDE = ["W" * 30 + str(place) for place in range(8)]
CHINESE = ["日本語のカテゴリ名前長い" * 2 + str(place) for place in range(6)]


@pytest.mark.filterwarnings("error:constrained_layout not applied", "ignore:Glyph")
@pytest.mark.parametrize("names", [ALIKE, IN_THE_MIDDLE, WIDE, CHINESE])
@pytest.mark.parametrize("title", ["", "a run"])
def test_long_names_of_categories_can_be_told_apart_and_the_legend_lies_below_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], title: str
) -> None:
    figures = drawn_figures(monkeypatch)
    for shown in (names, ["a", "b"]):
        bars = Series("rkl", "bars", shown, [0.1] * len(shown), "#009E73")
        draw([Panel(["shares"], [bars], "share")] * 2, 2, {"png": tmp_path / "a"}, title)
    for each in figures:
        each.draw_without_rendering()  # saving has left them at another resolution
    figure, short = figures
    assert len({label.get_text() for label in figure.axes[0].get_xticklabels()}) == len(names)
    for axes in figure.axes:
        below = [label.get_window_extent().y0 for label in axes.get_xticklabels()]
        assert min(below) >= 0
        if (legend := axes.get_legend()) is not None:
            assert legend.get_window_extent().y1 < min(below)
    room, as_ever = (each.axes[0].get_window_extent().height for each in (figure, short))
    assert room > 0.8 * as_ever


def test_what_plotly_reads_as_html_is_text_on_a_page() -> None:
    bars = Series("<b>r</b>", "bars", ["<i>", "a & b"], [0.5, None], "#009E73", notes=["<1>", ""], dots="<30")
    level = Level("<u>", 0.1, 0.2)
    panel = Panel(["<b>shares"], [bars], "share <b>", "<x>", [level], "note <b>")
    (choice,) = plot_data(Plot("p", "", "", [panel]))["choices"]
    assert choice["labels"] == ["<b>shares"]  # of the page's own buttons
    assert choice["data"][0]["x"] == ["&lt;i>", "a &amp; b"]
    assert choice["layout"]["shapes"][0]["label"]["text"] == "&lt;u>"
    text = json.dumps([choice["data"], choice["layout"]])
    assert set(re.findall("<[^>]*>", text)) == {"<extra>", "</extra>", "<br>"}
