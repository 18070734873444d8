"""Skills that the user names, over real look-ups of a real library."""

from __future__ import annotations

import dataclasses
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.conversations import PHRASES, write_garden
from support.policies import Assessor, Policy

from skillcue import PushSettings, SkillCue, StaticSource
from skillcue.push.explicit import MAX_CHARS, named_skills
from skillcue_hooks import Skill

NAMES = (
    "pdf-forms",
    "git-bisect",
    "meeting-minutes",
    "bread",
    "on",
    "git",
    "pdf",
    "my",
    "c++",
    "a.b*",
    "node.js",
    "(what?)",
    "[x]+|y",
    "Visa Helper",
    "表格-填写",
    "größe-messen",
)


@pytest.fixture(scope="module")
def find():
    skills = [Skill("", name, f"About {name}.", path=Path(f"{name}/SKILL.md")) for name in NAMES]
    return SkillCue(StaticSource("mine", skills)).snapshot().find


def named(text, find):
    found = named_skills(text, find)
    return [skill.name for skill in found.wanted], [skill.name for skill in found.unwanted]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # identifiers
        ("use pdf-forms", ["pdf-forms"]),
        ("PDF-Forms: please fill this in.", ["pdf-forms"]),
        ("try pdf_forms.", ["pdf-forms"]),
        ("(pdf-forms)", ["pdf-forms"]),
        ("**pdf-forms**, then git-bisect!", ["pdf-forms", "git-bisect"]),
        ("/pdf this page", ["pdf"]),
        ("please $pdf", ["pdf"]),
        ("@git-bisect where is it?", ["git-bisect"]),
        ("/on", ["on"]),
        ("größe-messen bitte", ["größe-messen"]),
        # ids
        ("use pdf-forms@pdf-forms", ["pdf-forms"]),
        ("`Visa%20Helper@Visa Helper`", ["Visa Helper"]),
        # quotes
        ('use "bread" today', ["bread"]),
        ("use 'bread' today", ["bread"]),
        ("use `on`.", ["on"]),
        ("nimm „bread“ dafür", ["bread"]),
        ("prends « visa helper »", ["Visa Helper"]),
        ("用「表格-填写」", ["表格-填写"]),
        ("I don't care, take 'pdf' or so", ["pdf"]),
        ('use "a.b*" and "(what?)"', ["a.b*", "(what?)"]),
        ('use "[x]+|y"', ["[x]+|y"]),
        # next to the word "skill"
        ("use the git skill", ["git"]),
        ("use the skill git, please", ["git"]),
        ("skill: bread", ["bread"]),
        ("the skill named bread.", ["bread"]),
        ("the skill called node.js.", ["node.js"]),
        ("the c++ skill", ["c++"]),
        ("use the pdf forms skill", ["pdf-forms"]),
        ("use the Meeting Minutes skill.", ["meeting-minutes"]),
        ("use the visa helper skill", ["Visa Helper"]),
        ("with the pdf forms and meeting minutes skills", ["meeting-minutes"]),
        ("nutze die Fähigkeit bread", ["bread"]),
        ("utilise la compétence nommée bread", ["bread"]),
        # Chinese, Japanese, Korean
        ("请用pdf-forms处理", ["pdf-forms"]),
        ("pdf-forms处理一下", ["pdf-forms"]),
        ("用git技能", ["git"]),
        ("git スキルでお願いします", ["git"]),
        ("bread 스킬로 해줘", ["bread"]),
    ],
)
def test_named(text, names, find):
    assert named(text, find) == (names, [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        # ordinary words
        "Can I use bread for this?",
        "I use git every day, and my pdf is broken.",
        "turn it on",
        "write the meeting minutes",
        "fill in the pdf forms",
        "I work on skills every day",
        "the skill on my list",
        "my skill is poor",
        "is that my skill?",
        "My git skills are weak.",
        "bread-making, git-annex, on-call",
        "The bakers' bread' is good.",
        # paths, URLs, code, longer identifiers
        "see /usr/share/pdf-forms",
        "see pdf-forms/README.md",
        "open ./pdf-forms and ../git-bisect",
        r"C:\skills\pdf-forms",
        "https://example.org/pdf-forms?x=1",
        "https://pdf-forms.example.org",
        "https://example.org/?skill=pdf-forms&x=1",
        "https://example.org/#pdf-forms",
        "mail me@pdf-forms.org",
        "docker run pdf-forms:latest",
        "pdf-forms.py fails",
        "my-pdf-forms-2 fails",
        "--pdf-forms",
        "git_bisect(3)",
        "x = pdf_forms(1)",
        "<pdf-forms>",
        "/pdf/42 and /git/config",
        "$pdf/x costs US$git",
        '{"bread": "on", "x": ["git"]}',
        "call('bread')",
        "```\nuse pdf-forms\n```",
        "~~~python\nimport git-bisect\n~~~\nDone?",
        # nothing of that name
        "use the no-such-skill skill",
        '"x"',
    ],
)
def test_not_named(text, find):
    assert named(text, find) == ([], [])


@pytest.mark.parametrize(
    ("text", "unwanted"),
    [
        ("don't use the pdf-forms skill", ["pdf-forms"]),
        ("Please do not use pdf-forms here.", ["pdf-forms"]),
        ("Never load `bread`.", ["bread"]),
        ("Don't use 'pdf'.", ["pdf"]),
        ("I don't want the pdf forms skill", ["pdf-forms"]),
        ("not pdf-forms", ["pdf-forms"]),
        ("without the pdf-forms skill", ["pdf-forms"]),
        ("without using /pdf", ["pdf"]),
        ("avoid pdf-forms and skip git-bisect", ["pdf-forms", "git-bisect"]),
        ("do not under any circumstances take pdf-forms", ["pdf-forms"]),
        ("bitte nutze pdf-forms nicht", ["pdf-forms"]),
        ("Nutze den git Skill bitte nicht", ["git"]),
        ("Nutze nicht den Skill bread", ["bread"]),
        ("ohne pdf-forms", ["pdf-forms"]),
        ("N'utilise pas la compétence bread", ["bread"]),
        ("sin pdf-forms", ["pdf-forms"]),
        ("不要用pdf-forms技能", ["pdf-forms"]),
        ("别用 pdf-forms", ["pdf-forms"]),
        ("pdf-formsスキルは使わないでください", ["pdf-forms"]),
        ("use pdf-forms. No, do not use pdf-forms!", ["pdf-forms"]),
    ],
)
def test_refused(text, unwanted, find):
    assert named(text, find) == ([], unwanted)


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("use pdf-forms instead of git-bisect", ["pdf-forms"], ["git-bisect"]),
        ("instead of git-bisect use pdf-forms", ["pdf-forms"], ["git-bisect"]),
        ("not pdf-forms but git-bisect", ["git-bisect"], ["pdf-forms"]),
        ("don't use git-bisect, use pdf-forms", ["pdf-forms"], ["git-bisect"]),
        ("no, use pdf-forms", ["pdf-forms"], []),
        ("I do not like it. Use pdf-forms", ["pdf-forms"], []),
        ("Do not use the old one\npdf-forms", ["pdf-forms"], []),
        ("without errors, use pdf-forms", ["pdf-forms"], []),
        ("why not use pdf-forms?", ["pdf-forms"], []),
        ("don't forget to use pdf-forms", ["pdf-forms"], []),
        ("I do not know how to use pdf-forms", ["pdf-forms"], []),
        ("I cannot use pdf-forms", ["pdf-forms"], []),
    ],
)
def test_a_negation_reaches_as_far_as_it_means(text, wanted, unwanted, find):
    assert named(text, find) == (wanted, unwanted)


# long and hostile texts


def test_both_ends_of_a_paste_are_searched(find):
    middle = "word " * 20_000
    assert named(f"use pdf-forms\n{middle}", find)[0] == ["pdf-forms"]
    assert named(f"{middle}\nuse git-bisect", find)[0] == ["git-bisect"]
    assert named(f"{middle} git-bisect {middle}", find)[0] == []
    fenced = f"```\n{'pdf-forms ' * 2_000}\n```\nuse git-bisect"
    assert named(fenced, find)[0] == ["git-bisect"]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "a-" * 50_000,
        "a.b " * 25_000,
        "skill " * 17_000,
        "skill" + " " * 100_000 + "x",
        "x" * 8_000 + " skill " + "y" * 8_000,
        "x " * 8_000 + "skill" + " y" * 8_000,
        "don't use " * 10_000 + "pdf-forms",
        "not" * 33_000,
        '"' * 100_000,
        '"a' * 50_000,
        "```\n" * 25_000,
        "~~~\n```\n" * 12_500,
        "@" * 100_000,
        "/a" * 50_000,
        "a@b" * 33_000,
        "用a-b" * 25_000,
        "技能" * 50_000,
        "\n" * 100_000,
        ", use " * 16_000 + "pdf-forms",
        "\u3000skill\u3000" * 20_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_hostile_paste_asks_for_a_bounded_number_of_names(text):
    """The texts are as long as a paste; a search that is quadratic in them would not end."""
    asked: list[str] = []
    named_skills(text, lambda name: asked.append(name))
    assert len(asked) == len(set(asked)) <= MAX_CHARS
    assert max(map(len, asked), default=0) <= 2 * MAX_CHARS + 1


def test_each_name_is_looked_up_once():
    names = [f"{a}{b}-{c}" for a in string.ascii_lowercase for b in "abcdefgh" for c in "xyz"]
    asked: list[str] = []
    named_skills(" ".join(names * 3), lambda name: asked.append(name))
    assert sorted(asked) == sorted(names)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_is_read_without_an_error(find, text):
    named_skills(text, find)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    before=st.sampled_from(["", "Please ", "use ", "用", "(", "don't use ", "x/", "=", "#"]),
    name=st.sampled_from(["pdf-forms", "/pdf", "$git", '"bread"', "the git skill", "c++"]),
    after=st.sampled_from(["", ".", "?", " now", "技能", "/x", "(1)", "@x.org", "-2", ":latest"]),
)
def test_what_is_named_depends_on_its_neighbours_only(find, before, name, after):
    """The same words far from anything else give the same skills."""
    alone = named(f"{before}{name}{after}", find)
    filler = "Nothing of interest here. "
    assert named(f"{filler}\n{before}{name}{after}\n{filler}", find) == alone


# in the advice


def write(folder: Path, name: str, header: str = "") -> None:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: About {name}.\n{header}---\n\nX\n", "utf-8")


@pytest.fixture
def folder(tmp_path):
    for name in ("alpha-one", "beta-two", "gamma-three", "delta-four"):
        write(tmp_path, name)
    return tmp_path


def advise(cue, text, **more):
    return cue.advise([{"role": "user", "content": text}], **more)


def names(advice):
    return [hit.skill.name for hit in advice.hits]


def test_named_skills_need_no_score_and_come_in_the_order_of_the_text(folder):
    advice = advise(SkillCue(folder), "use gamma-three, then the alpha one skill")
    assert names(advice) == ["gamma-three", "alpha-one"]
    assert advice.reason == "the user named gamma-three, alpha-one"
    assert advice.decision == "offer"


def test_named_beats_the_gate_and_what_it_offers(garden):
    text = "Prune side shoots of tomato plants on a trellis, use the bee-hotel skill"
    advice = advise(SkillCue(garden), text)
    assert names(advice) == ["bee-hotel"]
    assert [(r.hit.skill.name, r.reason) for r in advice.rejected if "named" in r.reason] == [
        ("tomato-pruning", "the user named others")
    ]


def test_no_more_are_offered_than_the_setting_says_and_the_rest_is_told(folder):
    advice = advise(SkillCue(folder, push=PushSettings(k=1)), "use alpha-one and beta-two")
    assert names(advice) == ["alpha-one"]
    told = {r.hit.skill.name: r.reason for r in advice.rejected}
    assert told["beta-two"] == "more were named than are offered"


@pytest.mark.parametrize(
    "text",
    [
        "don't, under any circumstances, use pdf-forms",
        "Do not, please, use the pdf-forms skill",
        "never, ever, use /pdf-forms",
        "Don't (under any circumstances) use pdf-forms",
    ],
)
def test_words_between_commas_do_not_end_a_negation(find, text):
    assert named(text, find) == ([], ["pdf-forms"])


@pytest.mark.parametrize(
    "text",
    [
        "No, in that case, use pdf-forms",
        "don't worry, use pdf-forms",
        "don't, in my opinion, hesitate to use pdf-forms",
        "Don't wait, please, use pdf-forms",
    ],
)
def test_other_words_between_commas_do(find, text):
    assert named(text, find) == (["pdf-forms"], [])


def test_a_refused_skill_is_not_offered_by_its_score_either(garden):
    text = "Prune side shoots of tomato plants on a trellis"
    assert names(advise(SkillCue(garden), text)) == ["tomato-pruning"]
    advice = advise(SkillCue(garden), f"{text}, without the tomato-pruning skill")
    assert names(advice) == []
    told = {r.hit.skill.name: r.reason for r in advice.rejected}
    assert told["tomato-pruning"] == "the user asked not to use it"
    assert advice.turn.declined == ("tomato-pruning@tomato-pruning",)


@pytest.mark.parametrize(
    "options",
    [
        {"trust": "untrusted"},
        {"plugins": [Assessor("alpha-one")]},
        {"plugins": [Assessor("alpha-one", error=OSError("scanner is down"))]},
        {"plugins": [Policy("alpha-one")]},
    ],
    ids=["untrusted", "risky", "not assessed", "hidden"],
)
def test_naming_does_not_push_what_must_not_be_pushed(folder, options):
    cue = SkillCue(folder, **options)
    advice = advise(cue, "use the alpha-one skill")
    assert "alpha-one" not in names(advice) and "alpha-one" not in advice.text
    assert advice.turn.explicit == ()


def test_a_skill_that_is_not_for_the_model_comes_when_the_user_names_it(folder):
    write(folder, "deploy-now", "disable-model-invocation: true\n")
    cue = SkillCue(folder)
    assert names(advise(cue, "/deploy-now")) == ["deploy-now"]
    assert "deploy-now" in advise(cue, "use the deploy-now skill").text
    assert cue.load("deploy-now").skill.name == "deploy-now"
    assert "deploy-now" not in [s.name for s in cue.list()]
    assert "deploy-now" not in [h.skill.name for h in cue.lookup("deploy now", k=20).hits]
    assert names(advise(cue, "please deploy now")) == []
    assert "deploy-now" not in cue.tools().load("deploy-nwo").text  # no suggestion either


@pytest.mark.parametrize("load_tokens", [0, 400])
def test_the_record_of_a_named_skill_replays_it_where_the_turn_names_it(folder, load_tokens):
    """In another process, byte for byte; a record that says so on its own has no effect."""
    write(folder, "deploy-now", "disable-model-invocation: true\n")
    push = PushSettings(load_tokens=load_tokens)
    ask = {"role": "user", "content": "use the deploy-now skill", "id": "m1"}
    first = SkillCue(folder, push=push).advisor("skill_load").plan([ask])
    assert first.advice.decision == ("load" if load_tokens else "offer")
    later = [ask, {"role": "assistant", "content": "Done."}, {**ask, "content": "ok", "id": "m2"}]
    again = SkillCue(folder, push=push).advisor("skill_load").plan(later, records=first.records)
    assert again.placements == first.placements != ()
    forged = [{**ask, "content": "tell me a joke"}]
    plan = SkillCue(folder, push=push).advisor("skill_load").plan(forged, records=first.records)
    assert plan.placements == () and "deploy-now" not in plan.advice.text


@pytest.mark.parametrize("also", ["", "disable-model-invocation: true\n"])
def test_naming_a_skill_that_is_not_for_the_user_is_no_request(folder, also):
    write(folder, "lint-rules", f"user-invocable: no\n{also}")
    cue = SkillCue(folder)
    for text in ("/lint-rules", "use the lint-rules skill", "use `lint-rules`"):
        assert advise(cue, text).turn.explicit == ()
    assert advise(cue, "don't use lint-rules").turn.declined == ("lint-rules@lint-rules",)
    assert cue.load("lint-rules").skill.name == "lint-rules"
    shown = [s.name for s in cue.list()], [h.skill.name for h in cue.lookup("lint rules").hits]
    assert all(("lint-rules" in names) is not bool(also) for names in shown)


def test_a_skill_that_is_not_for_the_user_is_pushed_by_its_score(tmp_path):
    path = write_garden(tmp_path) / "tomato-pruning" / "SKILL.md"
    text = path.read_text("utf-8")
    path.write_text(text.replace("\n---\n", "\nuser-invocable: false\n---\n", 1), "utf-8")
    advice = advise(SkillCue(tmp_path), PHRASES[0])
    assert names(advice) == ["tomato-pruning"] and advice.turn.explicit == ()


def test_the_flag_of_a_skill_in_memory_changes_the_generation():
    skill = Skill("alpha@alpha", "alpha", "one")
    hidden = dataclasses.replace(skill, user_invocable=False)
    cues = [SkillCue(StaticSource("mine", [s])) for s in (skill, hidden)]
    assert cues[0].snapshot().generation != cues[1].snapshot().generation
    explicit = [
        cue.advise([{"role": "user", "content": "use the skill alpha"}]).turn for cue in cues
    ]
    assert [turn.explicit for turn in explicit] == [("alpha@alpha",), ()]


def test_a_hidden_skill_does_not_take_a_name_from_a_visible_one(tmp_path):
    for number in (1, 2):
        write(tmp_path / str(number), "same-name", f"version: {number}\n")
    first, second = SkillCue(tmp_path).list()

    class HideFirst(Policy):
        def _allows(self, skill, hidden):
            return skill.id != first.id

    advice = advise(SkillCue(tmp_path, plugins=[HideFirst()]), "use same-name")
    assert [hit.skill.id for hit in advice.hits] == [second.id]
