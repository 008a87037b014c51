"""The pictures of the page, drawn by the environment that has matplotlib: `plots.py RESULTS.json FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update(
    {
        "svg.fonttype": "none",  # keep text as text, for small files
        "svg.hashsalt": "holdfast",  # the same figures give the same file
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#8c959f",
        "axes.labelcolor": "#24292f",
        "text.color": "#24292f",
        "xtick.color": "#57606a",
        "ytick.color": "#24292f",
        "axes.axisbelow": True,
        "figure.facecolor": "#ffffff",  # legible on dark pages too
    }
)
from matplotlib import pyplot as plt  # noqa: E402 - after the choice of what draws

COLOURS = {"floor": "#8c959f", "warm": "#0969da", "cold": "#54aeff", "peer": "#bf8700", "way": "#8250df"}
CALLED = {
    "floor": "floors",
    "warm": "Holdfast, warm",
    "cold": "Holdfast, cold",
    "peer": "others",
    "way": "relays, and ways not shipped",
}
LINES = (
    "#0969da",
    "#bf8700",
    "#1a7f37",
    "#8250df",
    "#cf222e",
    "#57606a",
    "#1b9e9e",
    "#bf3989",
    "#7a5c3e",
    "#9a9a00",
    "#000000",
    "#f0883e",
)


def main() -> None:
    """Draw every picture for which there are figures."""
    results, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    if "rows" in (results.get("race") or {}):
        processes(results["race"], folder / "benchmarks-processes.svg")
    if "ways" in (results.get("client") or {}):
        client(results["client"], folder / "benchmarks-client.svg")
    if (results.get("growth") or {}).get("points"):
        growth(results["growth"]["points"], folder / "benchmarks-growth.svg")


def processes(race: dict[str, Any], file: Path) -> None:
    """Draw floors, Holdfast's named events and other frameworks as bars on a logarithmic scale."""
    named = set(race["named"])
    kinds = {kind: [row for row in race["rows"] if row["kind"] == kind] for kind in CALLED}
    rows = [row for kind in CALLED for row in kinds[kind] if kind in ("floor", "peer", "way") or row["name"] in named]
    rows = [row for row in rows if not row["name"].endswith("one question")]  # no process
    figure, axes = plt.subplots(figsize=(9, 0.27 * len(rows) + 1.2))
    for kind, called in CALLED.items():
        places = [(place, row) for place, row in enumerate(rows) if row["kind"] == kind]
        if places:
            axes.barh([p for p, _ in places], [row["ms"] for _, row in places], 0.72, color=COLOURS[kind], label=called)
    for place, row in enumerate(rows):
        axes.text(row["ms"] * 1.04, place, f"{row['ms']:.1f}", va="center", fontsize=9)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200, 500], ["1", "2", "5", "10", "20", "50", "100", "200", "500"])
    axes.set_xticks([], minor=True)
    axes.set_xlim(1, max(row["ms"] for row in rows) * 1.6)
    axes.set_xlabel("milliseconds, whole process, median (logarithmic)")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=5, fontsize=9)
    _save(figure, file)


def client(found: dict[str, Any], file: Path) -> None:
    """Draw what each way adds to a call, with the middle half of the differences."""
    rows = [way for way in found["ways"] if way["name"] != "no hook"]
    figure, axes = plt.subplots(figsize=(9, 0.32 * len(rows) + 1.0))
    for place, way in enumerate(rows):
        low, high = way["quartiles_ms"]
        axes.barh(place, way["added_ms"], 0.7, color=COLOURS[way["kind"]])
        axes.plot([low, high], [place, place], color="#24292f", linewidth=1.2)
        axes.text(max(way["added_ms"], high, 0), place, f"  {way['added_ms']:.1f}", va="center", fontsize=9)
    axes.set_yticks(range(len(rows)), [way["name"] for way in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("milliseconds added to a tool call of the real client, median; the line is the middle half")
    _save(figure, file)


def growth(points: list[dict[str, Any]], file: Path) -> None:
    """Draw a small picture for each range: a line per event and mode, relative to the time of its smallest size."""
    ranges = list(dict.fromkeys(point["range"] for point in points))
    columns = min(3, len(ranges))
    rows = -(-len(ranges) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(3.3 * columns, 2.5 * rows + 0.7), squeeze=False, sharey=True)
    events = list(dict.fromkeys(point["event"] for point in points))
    for axes, name in zip(grid.flat, ranges, strict=False):
        here = [point for point in points if point["range"] == name]
        labels = {point["size"]: point["label"] for point in here}
        sizes = sorted(labels)
        for event, mode in dict.fromkeys((point["event"], point["mode"]) for point in here):
            curve = sorted((p["size"], p["ratio"]) for p in here if (p["event"], p["mode"]) == (event, mode))
            style = {"color": LINES[events.index(event) % len(LINES)], "linestyle": "--" if mode == "cold" else "-"}
            across, ratios = [sizes.index(size) for size, _ in curve], [ratio for _, ratio in curve]
            axes.plot(across, ratios, marker="o", markersize=3, label=event, **style)
        axes.axhline(1.2, color="#8c959f", linewidth=0.8, linestyle=":")
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(len(sizes)), [labels[size] for size in sizes])
    grid.flat[0].set_ylim(bottom=0)
    for axes in list(grid.flat)[len(ranges) :]:
        axes.set_visible(False)
    figure.supylabel("times what the smallest size takes (dashed: cold; dotted: 1.2 times)", fontsize=10)
    known = {label: line for axes in grid.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(known.values(), known.keys(), frameon=False, loc="outside lower center", ncols=3, fontsize=9)
    _save(figure, file)


def _save(figure: Any, file: Path) -> None:
    figure.set_layout_engine("constrained")
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
