"""The evaluation on a terminal."""

from __future__ import annotations

from typing import Any

from skillcue.commands.output import Screen
from skillcue.evaluation.model_costs import show_model_costs

__all__ = ["show_document", "signed"]


def show_document(screen: Screen, document: dict[str, Any]) -> None:
    """Print measures, comparisons, costs and what they were measured on."""
    _show_dataset(screen, document)
    _show_measures(screen, document)
    for comparison in document["comparisons"]:
        _show_comparison(screen, comparison)
    _show_gaps(screen, document)
    _show_costs(screen, document)
    show_model_costs(screen, document, f"{document['dataset']['queries']:,} queries")


def signed(value: float) -> str:
    """A difference with its sign and three digits."""
    return f"{value:+.3f}".replace("0.", ".", 1)


def _show_dataset(screen: Screen, document: dict[str, Any]) -> None:
    data = document["dataset"]
    more = f", {data['distractors']:,} of them distractors" if data["distractors"] else ""
    context = f", context {data['context']!r}" if data["context"] else ""
    screen.show(
        f"{data['name']}: {data['skills']:,} skills{more}; {data['queries']:,} queries, field "
        f"{data['field']!r}{context}",
        f"echo rate: {_percent(data['echo'])} of the words of a query stand in what is indexed of "
        f"its skills, {_percent(data['echo_heads'])} in their names and descriptions",
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _show_measures(screen: Screen, document: dict[str, Any]) -> None:
    names = document["measures"]
    rows = []
    for mode in document["modes"]:
        cells = []
        for name in names:
            found = mode["means"][name]
            cells.append(f"{found['mean']:.3f}\n{_short(found['low'])}-{_short(found['high'])}")
        times = mode["times"]
        rows.append((mode["mode"], *cells, f"{times['p50_ms']:.1f}", f"{times['p95_ms']:.1f}"))
    screen.heading("measures, 95% intervals below; milliseconds a query, nothing cached")
    numeric = " ".join(names) + " p50 p95"
    screen.table(("mode", *names, "p50", "p95"), rows, numeric=numeric)


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if 0.005 <= value < 0.995 else f"{value:.0f}"


def _show_comparison(screen: Screen, comparison: dict[str, Any]) -> None:
    found = comparison["measures"]
    n = next(iter(found.values()))["n"]
    screen.heading(
        f"{comparison['mode']} against {comparison['baseline']}, query by query, n = {n}"
    )
    rows = [
        (
            name,
            signed(item["mean"]),
            _span(item),
            f"{item['better']}/{item['worse']}",
            "" if item["p"] is None else f"{item['p']:.3f}",
            item["verdict"],
        )
        for name, item in found.items()
    ]
    columns = ("measure", "diff", "95% interval", "+/-", "McNemar", "verdict")
    screen.table(columns, rows, numeric="diff +/- McNemar")


def _span(interval: dict[str, float]) -> str:
    return f"{signed(interval['low'])} to {signed(interval['high'])}"


def _show_gaps(screen: Screen, document: dict[str, Any]) -> None:
    if document["gaps"] is None:
        return
    k = document["settings"]["k"]
    screen.heading(
        f"helpfulness gap: mean reward with a gold skill in the first {k}, minus without"
    )
    rows = []
    for gap in document["gaps"]:
        interval = gap["interval"]
        value = signed(interval["mean"]) if interval else "-"
        span = _span(interval) if interval else "-"
        rows.append((gap["mode"], value, span, f"{gap['found']}/{gap['missed']}", gap["words"]))
    columns = ("mode", "gap", "95% interval", "runs with/without", "verdict")
    screen.table(columns, rows, numeric="gap")


def _show_costs(screen: Screen, document: dict[str, Any]) -> None:
    load_all, k = document["load_all"], document["settings"]["k"]
    screen.heading("size of the prompt in tokens (estimated)")
    rows = [
        (f"the first {k} of {mode['mode']}", f"{mode['tokens']['mean']:,.0f}")
        for mode in document["modes"]
    ]
    rows.append(("all descriptions", f"{load_all['descriptions']:,}"))
    rows.append(("all descriptions and bodies", f"{load_all['tokens']:,}"))
    screen.table(("what the model reads", "tokens"), rows, numeric="tokens")
