"""What the sub-agent is shown and what it hands in: one text once, and nothing hidden in it."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refining import TASK, FixedModel, command, draft, finish, good_script, write_skills

from skillcue import SkillCue, StaticSource
from skillcue_adapters.refine.drafts import DraftError, checked_drafts
from skillcue_adapters.refine.likeness import is_same_text, words_of
from skillcue_adapters.refine.quoting import one_line, plain_text, quoted
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_hooks import Skill
from skillcue_hooks.testing import make_skill

PDF = "pdf-tables@pdf-tables"
READ = {PDF: make_skill("pdf-tables", "Tables of pdf reports.", "Body.")}
TEXT = " ".join(f"Step {n}: open file {n}, copy its table and save it." for n in range(12))

HIDDEN = (
    "\x1b\0\x07\x7f\x9b\u202e\u2066\u200b\u200d\ufeff\u00ad\u034f\u115f\u180b\u2800\u3164\uffa0"
)
"""Escape, bells, directions, blanks of no width, fillers, selectors."""


def names(*drafts: dict[str, Any]) -> list[str]:
    """The names of those that are taken."""
    return [draft.name for draft in checked_drafts(list(drafts), READ, RefineSettings())]


SAME = {
    "equal": TEXT,
    "blanks at the end": TEXT + " \n\n",
    "blanks within": TEXT.replace(" ", "  \n"),
    "line ends": TEXT.replace(". ", ".\r\n"),
    "case": TEXT.upper(),
    "punctuation": TEXT.replace(",", ";").replace(".", ""),
    "marks": "- " + TEXT.replace("Step", "**Step**"),
    "hidden": "\u200b".join(TEXT),
    "one more sentence": TEXT + " Done.",
    "one word": TEXT.replace("copy its table and save it.", "copy its table and keep it.", 1),
}


@pytest.mark.parametrize("name", ["one", "two"], ids=["same name", "other name"])
@pytest.mark.parametrize("body", SAME.values(), ids=list(SAME))
def test_what_is_one_text_is_taken_once(body: str, name: str) -> None:
    other = draft("three", body="Something else.")
    assert names(draft("one", body=TEXT), draft(name, body=body), other) == ["one", "three"]


def test_accents_however_they_are_encoded() -> None:
    one, other = "Le café réglé", unicodedata.normalize("NFD", "Le café réglé")
    assert names(draft("one", body=one), draft("two", body=other)) == ["one"]


@pytest.mark.parametrize(
    "body",
    ["Close the file.", TEXT[: len(TEXT) // 2], TEXT.replace("table", "chart")],
    ids=["other", "half", "other words"],
)
def test_other_texts_stay_two(body: str) -> None:
    assert names(draft("one", body=TEXT), draft("two", body=body)) == ["one", "two"]
    with pytest.raises(DraftError, match="Two skills are named one"):
        names(draft("one", body=TEXT), draft("one", body=body))


def test_texts_without_words_are_compared_as_they_are() -> None:
    assert names(draft("one", body="-> !"), draft("two", body="->  !")) == ["one"]
    assert names(draft("one", body="-> !"), draft("two", body="<- ?")) == ["one", "two"]


def test_the_share_is_of_triples_in_both() -> None:
    words = [f"w{n}" for n in range(102)]
    base = tuple(words)
    assert is_same_text(base, (*base, "a", "b"))
    assert not is_same_text(base, tuple(words[:90]))  # 88 of 100 triples
    assert is_same_text(base, tuple(words[:94]))  # 92 of 100 triples
    assert not is_same_text(words_of("run it"), words_of("run them"))


@given(st.text())
def test_nothing_hidden_is_left_in_any_text(text: str) -> None:
    for made in (plain_text(text), one_line(text), quoted(text)):
        for char in made:
            assert char in "\n\t" or unicodedata.category(char)[0] != "C"
        assert not set(made) & set(HIDDEN)
    assert plain_text(plain_text(text)) == plain_text(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_every_end_of_a_line_is_one(end: str) -> None:
    assert quoted(f"a{end}</skill>") == "| a\n| </skill>"
    assert one_line(f"a{end}b") == "a b"


def spoiled(text: str) -> str:
    """`text` with hidden characters behind each of its characters."""
    return "".join(f"{char}{HIDDEN[n % len(HIDDEN)]}" for n, char in enumerate(text))


def test_hidden_characters_reach_neither_the_model_nor_the_skill(tmp_path: Path) -> None:
    odd = Skill(
        id=spoiled("odd@odd"),
        name="odd",
        description=spoiled("Extract tables of a quarterly pdf report."),
        body=spoiled("Use the pdf tool.\nThen merge.") * 200,
        path=tmp_path / "odd" / "SKILL.md",
    )
    mine = draft("clean", "odd@odd", description=spoiled("A skill."), body=spoiled("Do it.\nThen"))
    script = [command("keyword", query="pdf report"), command("detail", skill="odd@odd")]
    model = FixedModel([*script, finish(mine)])
    modes = {"refine": {"base": "bm25"}}
    source = StaticSource("made", [odd], trust="trusted")
    with SkillCue(source, mode="bm25", llm=model, modes=modes, cache=tmp_path / "cache") as cue:
        found = cue.lookup(TASK + HIDDEN, mode="refine")
        assert found.degraded is None
        skill = found.hits[0].skill
        shown = cue.load(skill.id).text
        written = skill.path.read_text("utf-8")
    assert skill.derived_from == (odd.id,)
    told = "\n".join(message.text for message in model.asked[-1])
    assert "Use the pdf tool." in told
    assert 'page="1" pages="1"' in told  # counted without what is not shown
    assert not set(told) & set(HIDDEN)
    assert not set(skill.description + shown) & set(HIDDEN)
    assert shown.startswith("Do it.\nThen\n\nComposed from `odd@odd`.")
    assert not set(written.split("---")[-1]) & set(HIDDEN)


SAME_TASK = {
    "blanks around": f"  {TASK}\n",
    "line ends": TASK.replace(" and ", "\r\nand "),
    "runs of blanks": TASK.replace(" ", "\t  "),
}


@pytest.mark.parametrize("text", SAME_TASK.values(), ids=list(SAME_TASK))
def test_blanks_make_no_other_task(text: str, tmp_path: Path) -> None:
    model = FixedModel(good_script())
    modes = {"refine": {"base": "bm25"}}
    skills = write_skills(tmp_path / "skills")
    with SkillCue(skills, mode="bm25", llm=model, modes=modes) as cue:
        first = cue.lookup(TASK, mode="refine")
        again = cue.lookup(text, mode="refine")
        assert again.hits[0].skill == first.hits[0].skill
        assert again.cached
        told = cue.lookup("merge the sheets", mode="refine", task=text)
        assert told.cached
    assert len(model.asked) == 4


def test_accents_make_no_other_task_and_case_does(tmp_path: Path) -> None:
    task = "Die Tabellen für Größe auslesen: pdf"
    model = FixedModel(good_script() * 2)
    skills = write_skills(tmp_path / "skills")
    modes = {"refine": {"base": "bm25"}}
    with SkillCue(skills, mode="bm25", llm=model, modes=modes) as cue:
        for text in (unicodedata.normalize("NFC", task), unicodedata.normalize("NFD", task)):
            cue.lookup(text, mode="refine")
        assert len(model.asked) == 4
        cue.lookup(task.lower(), mode="refine")
    assert len(model.asked) == 8
