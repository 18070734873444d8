"""The evaluation of push on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillcue.commands.output import Screen
from skillcue.evaluation.model_costs import show_model_costs
from skillcue.evaluation.table import signed

__all__ = ["show_push_document"]


def show_push_document(screen: Screen, document: Mapping[str, Any]) -> None:
    """Print what separates turns, what push does at its setting, and each kind of turn."""
    data = document["dataset"]
    screen.show(
        f"{data['name']}: {data['skills']:,} skills; {data['conversations']:,} conversations, "
        f"{data['turns']:,} user turns: {data['need']} need a skill, {data['given']} have theirs "
        f"already, {data['none']} need none"
    )
    _show_separation(screen, document)
    _show_setting(screen, document)
    _show_kinds(screen, document)
    show_model_costs(screen, document, f"{data['turns']:,} user turns")


def _show_separation(screen: Screen, document: Mapping[str, Any]) -> None:
    if document["modes"][0]["auc"]["mean"] is None:
        return
    shares = [point["false"] for point in document["modes"][0]["at_false"]]
    columns = ("mode", "AUC", *(f"at {share:.0%}" for share in shares))
    rows = [
        (
            mode["mode"],
            _with_span(mode["auc"], as_share=False),
            *(_with_span(point["advised"]) for point in mode["at_false"]),
        )
        for mode in document["modes"]
    ]
    screen.heading("needed turns advised, at a share of false pushes; 95% intervals below")
    screen.table(columns, rows, numeric=" ".join(columns[1:]))
    for item in document["comparisons"]:
        if item["auc"]:
            found = item["auc"]
            span = f"{signed(found['low'])} to {signed(found['high'])}"
            screen.show(
                f"AUC of {item['mode']} minus {item['baseline']}: {signed(found['mean'])}, "
                f"95% interval {span}"
            )


def _show_setting(screen: Screen, document: Mapping[str, Any]) -> None:
    columns = ("mode", "advised", "false", "right first", "at hand", "repeats", "p50 ms")
    rows = []
    for mode in document["modes"]:
        at = mode["at_setting"]
        shares = [_with_span(at[n]) for n in ("advised", "false_pushes", "right_first")]
        at_hand = _counted(at["at_hand"])
        repeats, p50 = _with_span(at["given_repeats"]), f"{mode['times']['p50_ms']:.1f}"
        rows.append((mode["mode"], *shares, at_hand, repeats, p50))
    allowed = document["settings"]["gate"]["max_false_push"]
    screen.heading(
        f"at the setting of the gate, max_false_push {allowed:g}: needed turns advised, false "
        "pushes, right skill first where advised; needed turns whose skill push had named before, "
        "which are in none of these; repeats where it was given"
    )
    screen.table(columns, rows, numeric="advised false p50 repeats hand")


def _show_kinds(screen: Screen, document: Mapping[str, Any]) -> None:
    names = {"need": "need", "given": "given already", "none": "need none"}
    modes = document["modes"]
    rows = [
        (
            kind["kind"],
            names[kind["group"]],
            f"{kind['n']}",
            *(_counts(mode["kinds"][at]) for mode in modes),
        )
        for at, kind in enumerate(modes[0]["kinds"])
    ]
    screen.heading(
        "turns advised by kind; on those that need a skill, the right one first, and how many had "
        "it at hand"
    )
    screen.table(("kind", "group", "turns", *(m["mode"] for m in modes)), rows, numeric="turns")


def _counted(share: Mapping[str, Any]) -> str:
    if share["mean"] is None:
        return "-"
    return f"{round(share['mean'] * share['n'])} of {share['n']}"


def _counts(kind: Mapping[str, Any]) -> str:
    if kind["group"] != "need":
        return f"{kind['advised']}"
    at_hand = f", {kind['at_hand']} at hand" if kind["at_hand"] else ""
    return f"{kind['advised']} ({kind['right_first']} right{at_hand})"


def _with_span(share: Mapping[str, Any], *, as_share: bool = True) -> str:
    if share["mean"] is None:
        return "-"
    if as_share:
        return f"{share['mean']:.0%}\n{share['low']:.0%}-{share['high']:.0%}"
    return f"{share['mean']:.3f}\n{share['low']:.2f}-{share['high']:.2f}".replace("0.", ".")
