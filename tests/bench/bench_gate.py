"""Measure the push gate on labelled conversations; JSON lines.

    python tests/bench/bench_gate.py CONVERSATIONS.jsonl [...] --skills FOLDER
    python tests/bench/bench_gate.py CONVERSATIONS.jsonl --corpus CORPUS.jsonl[.gz]

A line of a conversation file is ``{"_id": ..., "turns": [{"role": "user", "text": ..., "label":
{"need": ..., "gold": [...], "also_ok": [...], "already_given": ..., "kind": ...}}, {"role":
"assistant", "text": ...}]}``; a line of a corpus ``{"_id", "title", "text", "body"}``.

Two kinds of figures, for each mode:

- of the score, whatever the threshold (`auc`, `curve`): every skill counts as supplied from the turn
  on that needed it, which is what the labels mean;
- of push as it is, with `max_false_push` as given (`at`): the advisor reads the conversation turn by
  turn, and what it has offered is at hand. Turns whose skill was given before are counted apart: a
  `late` hit where the advisor had missed it, a `repeat` where it had offered it.

Intervals are 95% bootstrap intervals over conversations.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gate_rows import Row, auc, conversations, feature_rows, recall_at

from skillcue import GateSettings, PushSettings, SkillCue, StaticSource
from skillcue_hooks import Skill

MODES = (("bm25", None), ("skillsight", "static"), ("skillsight", "minilm"))
SETTINGS = (0.05, 0.1)
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
RESAMPLES = 1000

Outcome = Mapping[str, Any]


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("conversations", nargs="+", type=Path)
    parser.add_argument("--skills", type=Path, default=Path("examples/skills"))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--mode", help="one of bm25, skillsight+static, skillsight+minilm")
    given = parser.parse_args()
    source = _corpus(given.corpus) if given.corpus else given.skills
    talks = list(conversations(given.conversations))
    for mode, encoder in MODES:
        name = f"{mode}+{encoder}" if encoder else mode
        if given.mode not in (None, name):
            continue
        settings = {"encoder": encoder} if encoder else {}
        cue = SkillCue(source, mode=mode, recheck="manual", wait=True, **settings)
        rows = [r for r in feature_rows(cue, mode, talks, PushSettings()) if not r.given]
        calibration = cue.fitted_gate(mode, cue.snapshot()).calibration
        if calibration is None:
            raise SystemExit(f"mode {mode} finds nothing in this library")
        scores = np.array([calibration.score(row.features) for row in rows])
        _print(name, "score", _of_score(rows, scores))
        for allowed in SETTINGS:
            push = PushSettings(gate=GateSettings(max_false_push=allowed))
            pushing = SkillCue(
                source, mode=mode, recheck="manual", wait=True, push=push, **settings
            )
            outcomes = [turn for talk in talks for turn in _replay(pushing, talk)]
            _print(name, "at", {"max_false_push": allowed, **_of_push(outcomes)})
    words = np.array([float(row.words) for row in rows])
    _print("turn length", "score", _of_score(rows, words))


def _corpus(path: Path) -> StaticSource:
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    skills = [
        Skill(r["_id"], r["title"], r["text"], r.get("body", ""), content_hash=r["_id"])
        for r in records
    ]
    return StaticSource("corpus", skills)


def _print(mode: str, kind: str, record: Mapping[str, Any]) -> None:
    print(json.dumps({"mode": mode, "figures": kind, **record}), flush=True)


def _of_score(rows: Sequence[Row], scores: Any) -> dict[str, Any]:
    need = np.array([row.need for row in rows])
    first = np.array([row.first for row in rows])
    talks = np.array([row.conversation for row in rows])

    def area(chosen: Any) -> float:
        return auc(scores[chosen & need], scores[chosen & ~need])

    curve = []
    for share in SHARES:
        told = np.array(recall_at(scores[need], scores[~need], share))
        right = float(first[need][told].mean()) if told.any() else float("nan")
        curve.append({"false": share, "advised": _r(told.mean()), "right_first": _r(right)})
    every = np.ones(len(rows), dtype=np.bool_)
    return {
        "turns": len(rows),
        "needed": int(need.sum()),
        "auc": _r(area(every)),
        "auc_95": _interval(talks, lambda counts: _weighted_auc(scores, need, counts)),
        "curve": curve,
    }


def _weighted_auc(scores: Any, need: Any, counts: Any) -> float:
    again = np.repeat(np.arange(len(scores)), counts)
    return auc(scores[again][need[again]], scores[again][~need[again]])


def _replay(cue: SkillCue, talk: Mapping[str, Any]) -> Iterable[Outcome]:
    """What push says on each user turn."""
    messages: list[dict[str, str]] = []
    advisor = cue.advisor("skill_load")
    offered: set[str] = set()
    for turn in talk["turns"]:
        if turn["role"] not in ("user", "assistant"):
            continue
        messages.append({"role": turn["role"], "content": turn["text"]})
        if turn["role"] != "user":
            continue
        label = turn["label"]
        ids = [hit.skill.id for hit in advisor.plan(messages).advice.hits]
        right = {*label["gold"], *label["also_ok"]}
        yield {
            "talk": talk["_id"],
            "kind": label["kind"],
            "class": "given" if label["already_given"] else "needed" if label["need"] else "none",
            "advised": bool(ids),
            "first": bool(ids) and ids[0] in right,
            "any": bool(right & set(ids)),
            "repeat": bool(offered & set(ids)),
        }
        offered.update(ids)


def _of_push(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    talks = np.array([o["talk"] for o in outcomes])

    def share(what: str, of: str, among: str | None = None) -> dict[str, Any]:
        base = np.array([o["class"] == of and (among is None or o[among]) for o in outcomes])
        hit = np.array([bool(o[what]) for o in outcomes]) & base

        def measure(counts: Any) -> float:
            total = counts[base].sum()
            return float(counts[hit].sum() / total) if total else float("nan")

        ones = np.ones(len(outcomes), dtype=np.int64)
        return {"share": _r(measure(ones)), "of": int(base.sum()), "95": _interval(talks, measure)}

    return {
        "false_pushes": share("advised", "none"),
        "advised": share("advised", "needed"),
        "right_first": share("first", "needed", "advised"),
        "right_offered": share("any", "needed", "advised"),
        "on_given": share("advised", "given"),
        "repeats_on_given": share("repeat", "given"),
        "kinds": _by_kind(outcomes),
    }


def _by_kind(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Advised and all turns of each kind, needed ones and others apart."""
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for outcome in outcomes:
        cell = counts[outcome["kind"]][outcome["class"]]
        cell[0] += outcome["advised"]
        cell[1] += 1
    return {kind: dict(cells) for kind, cells in sorted(counts.items())}


def _interval(talks: Any, measure: Callable[[Any], float]) -> list[float]:
    """95% bootstrap interval over conversations of what `measure` makes of counts of turns."""
    names, index = np.unique(talks, return_inverse=True)
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        counts = np.bincount(random.integers(len(names), size=len(names)), minlength=len(names))
        drawn.append(measure(counts[index]))
    return [_r(value) for value in np.nanquantile(drawn, [0.025, 0.975])]


def _r(value: Any) -> float:
    return round(float(value), 3)


if __name__ == "__main__":
    main()
