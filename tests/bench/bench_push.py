"""Does push speak when it should? On labelled conversations and requests.

    python tests/bench/bench_push.py [--data FOLDER --conversations FILE [--requests FILE]]

FOLDER/corpus.jsonl.gz holds the skills that the labels name; both files have the form that
``skillcue eval`` reads, and what is counted is what it counts. Without them the labelled example
conversations are measured: on these the constants of the gate were fitted, so that their figures
promise nothing for others. Prints JSON lines; a share is ``[mean, low, high, n]`` with its 95%
interval, bootstrapped over conversations.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from run import ROOT, environment

from skillcue import GateSettings, PushSettings
from skillcue.evaluation.conversations import Labelled, conversation_files, load_labelled
from skillcue.evaluation.conversations_measures import PushScores
from skillcue.evaluation.conversations_run import PushRun, run_push
from skillcue.evaluation.datasets import Reading, load_pool
from skillcue.evaluation.layout import FileChoice, find_pool
from skillcue.evaluation.runner import RunSettings

EXAMPLES = ROOT / "examples" / "conversations" / "labelled"
MODES = (("bm25", None), ("skillsight", "static"), ("skillsight", "minilm"))
SETTINGS = (0.05, 0.1)
"""Values of `max_false_push`."""
CURVE_SHARES = (*(n / 100 for n in range(31)), *(n / 10 for n in range(4, 11)))
"""Shares of false pushes at which the curve is read, closer where push is of use."""
SHARES = (
    "false_pushes",
    "advised",
    "right_first",
    "right_offered",
    "at_hand",
    "at_hand_others",
    "given_repeats",
    "given_late",
    "given_others",
)


def main() -> None:
    """See the module."""
    args = _parser().parse_args()
    folder = args.data if args.conversations else EXAMPLES
    talks = _labelled(folder, args.conversations)
    fitted_on = args.conversations is None
    print_row("push data", set="conversations", fitted_on=fitted_on, **_data(talks))
    requests = _labelled(folder, args.requests) if args.requests else None
    if requests:
        print_row("push data", set="requests", fitted_on=False, **_data(requests))
    for mode, encoder in MODES:
        named = {"mode": mode, "encoder": encoder or "-"}
        for allowed in SETTINGS:
            done = _run(talks, mode, encoder, allowed)
            scores = PushScores(done.outcomes)
            if allowed == SETTINGS[0]:  # what does not depend on the setting
                print_row("push", **named, **_separation(scores))
            print_row("push setting", **named, max_false_push=allowed, **_at(done, scores))
            if requests:
                asked = PushScores(_run(requests, mode, encoder, allowed).outcomes).at_setting()
                found = {name: _share(asked[name]) for name in ("advised", "right_first")}
                print_row("push requests", **named, max_false_push=allowed, **found)
    by_length = [
        replace(item, score=float(len(item.text.split())), always=False) for item in done.outcomes
    ]
    print_row("push by length", auc=_share(PushScores(by_length).auc()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, help="folder with the skills")
    parser.add_argument("--conversations", type=Path, help="labelled conversations over them")
    parser.add_argument("--requests", type=Path, help="labelled single requests over them")
    return parser


def print_row(what: str, **values: Any) -> None:
    """One line of JSON."""
    print(json.dumps({"what": what, **values}), flush=True)


def _labelled(folder: Path, file: Path | None) -> Labelled:
    corpus = folder / "corpus.jsonl.gz"
    choice = FileChoice(corpus=corpus) if corpus.exists() else FileChoice()
    files = (file,) if file else conversation_files(folder)
    return load_labelled(folder.name, files, load_pool(find_pool(folder, choice), Reading()))


def _data(data: Labelled) -> dict[str, Any]:
    groups = [t.label.group for talk in data.conversations for t in talk.turns if t.label]
    made = environment()
    return {
        "skills": len(data.pool.skills),
        "conversations": len(data.conversations),
        "turns": len(groups),
        **{group: groups.count(group) for group in ("need", "given", "none")},
        "commit": made["commit"],
        "date": made["date"],
    }


def _run(data: Labelled, mode: str, encoder: str | None, allowed: float) -> PushRun:
    push = PushSettings(gate=GateSettings(max_false_push=allowed))
    settings = RunSettings(encoder=encoder, cache=ROOT / "build" / "vectors")
    [done] = run_push(data, [mode], settings, push, lambda *_progress: None)
    degraded = {item.degraded for item in done.outcomes if item.degraded}
    if degraded:
        raise SystemExit(f"{mode} answered by a cheaper path: {', '.join(sorted(degraded))}")
    return done


def _separation(scores: PushScores) -> dict[str, Any]:
    """What the threshold does not change."""
    curve = scores.curve()
    return {
        "auc": _share(scores.auc()),
        "at": [
            {
                "false": point["false"],
                "advised": _share(point["advised"]),
                "right_first": _share(point["right_first"]),
            }
            for point in scores.at_false_shares()
        ],
        "curve": [_read(curve, share) for share in CURVE_SHARES],
    }


def _read(curve: Sequence[Mapping[str, float]], share: float) -> list[float]:
    """``[share, advised, right first]`` where at most `share` are false pushes."""
    within = [point for point in curve if point["false"] <= share + 1e-9]
    best = within[-1] if within else {"advised": 0.0, "right_first": 0.0}
    return [share, round(best["advised"], 4), round(best["right_first"], 4)]


def _at(done: PushRun, scores: PushScores) -> dict[str, Any]:
    found = scores.at_setting()
    times = sorted(done.seconds)
    return {
        **{name: _share(found[name]) for name in SHARES},
        "kinds": scores.kinds(),
        "tokens": done.tokens,
        "p50_ms": round(times[len(times) // 2] * 1000, 2),
    }


def _share(share: Mapping[str, Any]) -> list[Any]:
    numbers = [share[name] for name in ("mean", "low", "high")]
    return [*(None if x is None else round(x, 4) for x in numbers), share["n"]]


if __name__ == "__main__":
    main()
