"""Profiles: four tags in a fixed order, nothing that the file does not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillcue import SkillCue
from skillcue_adapters.augment.profile import TAGS, faults_of_tags, profile_tags
from skillcue_adapters.augment.vocabulary import library_names
from skillcue_hooks.testing import make_skill

EXAMPLES = Path(__file__).parents[2] / "examples" / "skills"


def test_file_type_then_operations() -> None:
    skill = make_skill(
        "pdf-excel-diff",
        "Compare a PDF document against an Excel spreadsheet, flagging cells whose values differ.",
        "## Extract the table\n\nThen validate what was extracted from the pdf.\n",
    )
    assert profile_tags(skill) == ("pdf", "diff", "compare", "extract")


def test_a_file_type_is_given_in_the_words_of_the_file() -> None:
    skill = make_skill("sheets", "Merge Excel files, sort and filter their rows.")
    assert profile_tags(skill)[0] == "excel"


def test_without_a_file_type_the_subject_stands_there() -> None:
    skill = make_skill("sourdough-baking", "Bake bread: plan, shape and proof the dough.")
    assert profile_tags(skill) == ("sourdough", "bake", "plan", "shape")


def test_operations_that_are_missing_give_way_to_words_of_the_description() -> None:
    skill = make_skill("nda-review", "Confidentiality agreements, clause by clause.")
    assert profile_tags(skill) == ("nda", "review", "confidentiality", "agreements")


def test_a_file_that_says_too_little_has_no_tags() -> None:
    assert profile_tags(make_skill("x", "It does.")) == ()


def test_libraries_are_no_tags() -> None:
    code = (
        "```python\nimport reportlab\nfrom pypdf import PdfReader\n```\n```\npip install flask\n```"
    )
    skill = make_skill("reportlab-flask-pypdf", "Reportlab, flask, pypdf. Fill forms.", code)
    tags = profile_tags(skill)
    assert not {"reportlab", "flask", "pypdf"} & set(tags)
    assert faults_of_tags(("pypdf", "fill", "forms", "flask"), skill) == [
        "tag 'pypdf' is the name of a library",
        "tag 'flask' is the name of a library",
    ]


def test_names_of_libraries() -> None:
    codes = [
        "import numpy as np\nfrom pandas import DataFrame",
        "const x = require('left-pad')\nimport React from 'react'",
        "$ pip install 'httpx' rich --upgrade\nnpm install @scope/thing",
    ]
    assert library_names(codes) >= {
        "numpy", "pandas", "left-pad", "react", "httpx", "rich", "@scope/thing",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tags", "fault"),
    [
        (("pdf", "fill", "map"), "give exactly 4 tags"),
        (("pdf", "fill", "map", 4), "give exactly 4 tags"),
        (("pdf", "fill", "map", "fill"), "tags repeat"),
        (("pdf", "fill", "map", "teleport"), "the file does not say 'teleport'"),
        (("pdf", "fill", "map", "fill in a form"), "is not one or two words"),
        (("pdf", "fill", "map", ""), "is not one or two words"),
        (("pdf", "fill", "map", "x" * 40), "is not one or two words"),
        (("pdf", "fill", "map", "and"), "tag 'and' holds no word that tells skills apart"),
    ],
)
def test_faults_of_tags_that_somebody_else_made(tags: tuple[object, ...], fault: str) -> None:
    skill = make_skill("pdf-forms", "Fill in forms.", "Map the values. " + "x" * 40)
    assert any(fault in found for found in faults_of_tags(tags, skill))


def test_real_files_have_four_tags_without_a_fault() -> None:
    with SkillCue(EXAMPLES, mode="bm25") as cue:
        skills = cue.list()
    for skill in skills:
        tags = profile_tags(skill)
        assert len(tags) in (0, TAGS)
        assert not tags or not faults_of_tags(tags, skill), (skill.id, tags)
    missing = [skill.id for skill in skills if not profile_tags(skill)]
    assert len(missing) <= 1, missing
