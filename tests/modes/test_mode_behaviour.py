"""What the modes with vectors do, over the example library with the encoders that ship."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.hybrid import HybridSettings
from skillcue_adapters.semantic_retriever import SemanticSettings
from skillcue_adapters.skillsight import SkillSightSettings
from skillcue_hooks.contracts import Library, Query, Ranking, Skill
from skillcue_hooks.errors import ConfigurationError, UnknownSettingError
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.testing import FakeEncoder

Build = Callable[..., Any]
MODES = (dense, hybrid, skillsight)
EVERY_MODE = (bm25, *MODES)


def names(ranking: Ranking) -> list[str]:
    return [hit.skill.name for hit in ranking.hits]


def scores(retriever: Any, query: Query) -> list[tuple[str, float]]:
    return [(hit.skill.id, hit.score) for hit in retriever.search(replace(query, k=1000)).hits]


def lengthened(library: Library, *skills: Skill) -> Library:
    return Library(f"{library.generation}+{len(skills)}", (*library.skills, *skills))


# --- meaning ------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [dense, skillsight], ids=["dense", "skillsight"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("someone tripped over a cable in the warehouse and broke an arm", "accident-report"),
        ("dinner for eleven, I only know the quantities for two", "recipe-scaling"),
        ("tell the newspapers about our launch", "press-release"),
    ],
)
def test_a_skill_is_found_that_shares_no_word_with_the_request(
    build: Build, examples: Library, minilm_encoder: Encoder, module: Any, text: str, wanted: str
) -> None:
    (skill,) = [skill for skill in examples.skills if skill.name == wanted]
    words = set(ANALYZER.terms(f"{bm25.head_text(skill)} {skill.body}"))
    assert not words & set(ANALYZER.terms(text)), "no test of meaning"
    assert wanted not in names(build(bm25.build, examples).search(Query(text, k=48)))
    retriever = build(module.build, examples, encoder=minilm_encoder)
    assert wanted in names(retriever.search(Query(text, k=2)))


# --- names --------------------------------------------------------------------------------


def test_a_skill_called_by_its_plain_name_comes_up_in_a_long_task(
    build: Build, minilm_encoder: Encoder, examples: Library
) -> None:
    plain = Skill("zz-pdf", "pdf", "Portable document toolkit.")
    library = lengthened(examples, plain)
    task = (
        "Read the monthly sales of all branches from the database, compare them with last year, "
        "work out which branches lose customers and why, draw one chart for each region, write a "
        "summary of two pages for the board with the three most important findings and one "
        "recommendation each, and save the whole report as PDF."
    )
    called = build(skillsight.build, library, encoder=minilm_encoder)
    deaf = build(skillsight.build, library, encoder=minilm_encoder, name_weight=0.0)
    found = {hit.skill.id: hit for hit in called.search(Query(task, k=100)).hits}
    without = {hit.skill.id: hit for hit in deaf.search(Query(task, k=100)).hits}
    assert found["zz-pdf"].signals["called"] == 1.0
    assert sum(hit.signals["called"] for hit in found.values()) == 1.0
    assert found["zz-pdf"].rank < without["zz-pdf"].rank
    for skill_id, hit in found.items():
        gained = 1.5 if skill_id == "zz-pdf" else 0.0
        assert hit.score - without[skill_id].score == pytest.approx(gained, abs=1e-12)


def test_renaming_a_skill_changes_what_calls_it(build: Build, examples: Library) -> None:
    first = build(skillsight.build, lengthened(examples, Skill("zz", "owl", "Something.")))
    renamed = lengthened(examples, Skill("zz", "lark", "Something."))
    second = build(skillsight.build, renamed, previous=first)
    called = {
        text: {
            hit.skill.id for hit in second.search(Query(text, k=99)).hits if hit.signals["called"]
        }
        for text in ("ask the owl", "ask the lark")
    }
    assert called == {"ask the owl": set(), "ask the lark": {"zz"}}


# --- long input ---------------------------------------------------------------------------

FILLER = (
    "The project began in spring and has grown since. Four people work on it, two of them part "
    "time. We meet on Mondays in the small room on the third floor. The budget has been approved "
    "until the end of the year. Nobody has looked at the old wiki for months. The customer likes "
    "short answers and blue charts. Coffee is free but the machine is slow. "
)
MORE = (
    "Next year two more people will join the team. The old office will be closed in autumn. The "
    "new one has a garden and a lift. Parking stays difficult. The neighbours are friendly, most "
    "of them are architects. Lunch is at noon. Visitors sign a book at the door. "
)
NEEDLE = "The words appear on the video two seconds late. "
BURIED = f"{FILLER}{NEEDLE}{MORE}"


def test_one_sentence_of_a_long_text_is_enough(
    build: Build, examples: Library, minilm_encoder: Encoder
) -> None:
    def rank(text: str, **settings: Any) -> int:
        # Words apart: only meaning is asked here.
        alone = {"evidence_weight": 0.0, "document_weight": 0.0, **settings}
        retriever = build(skillsight.build, examples, encoder=minilm_encoder, **alone)
        return names(retriever.search(Query(text, k=48))).index("subtitle-timing") + 1

    assert rank(BURIED) == 1
    assert rank(BURIED, sentence_weight=0.0) > 1
    assert rank(BURIED, long_chars=10_000) == rank(BURIED, sentence_weight=0.0)


def test_short_texts_are_not_cut_into_sentences(build: Build, examples: Library) -> None:
    text = "The loaf comes out flat. The levain is sour. What is wrong with it?"
    plain = build(skillsight.build, examples, sentence_weight=0.0)
    assert scores(build(skillsight.build, examples), Query(text)) == scores(plain, Query(text))
    cut = build(skillsight.build, examples, long_chars=len(text))
    assert scores(cut, Query(text)) != scores(plain, Query(text))


def test_what_stands_in_the_middle_is_left_out_first(
    build: Build, examples: Library, minilm_encoder: Encoder
) -> None:
    def z(text: str, most: int) -> float:
        retriever = build(skillsight.build, examples, encoder=minilm_encoder, most_sentences=most)
        hits = retriever.search(Query(text, k=48)).hits
        return next(h.signals["z_head"] for h in hits if h.skill.name == "subtitle-timing")

    for text, is_read in (
        (f"{NEEDLE}{FILLER}{MORE}", True),
        (f"{FILLER}{NEEDLE}{MORE}", False),
        (f"{FILLER}{MORE}{NEEDLE}", True),
    ):
        assert (z(text, 4) > z(text, 16) - 0.5) == is_read


# --- context ------------------------------------------------------------------------------

TERSE = "and why does it do that?"
CONTEXT = "Our Kubernetes pod is in CrashLoopBackOff since the deployment at noon."


@pytest.mark.parametrize("module", MODES, ids=["dense", "hybrid", "skillsight"])
def test_the_conversation_says_what_a_terse_query_means(
    build: Build, examples: Library, minilm_encoder: Encoder, module: Any
) -> None:
    retriever = build(module.build, examples, encoder=minilm_encoder)
    alone = retriever.search(Query(TERSE, k=48))
    told = retriever.search(Query(TERSE, CONTEXT, k=48))
    assert names(alone)[0] != "kubernetes-pod-debugging"
    assert names(told)[0] == "kubernetes-pod-debugging"
    # Signals are about the text alone; only z of mode hybrid is about what is fused.
    dropped = {"z"} if module is hybrid else set()
    before, after = (
        {hit.skill.id: {n: v for n, v in hit.signals.items() if n not in dropped} for hit in hits}
        for hits in (alone.hits, told.hits)
    )
    assert before == after


def test_context_counts_by_its_weight(
    build: Build, examples: Library, static_encoder: Encoder
) -> None:
    def total(weight: float, text: str, context: str = "") -> dict[str, float]:
        retriever = build(skillsight.build, examples, encoder=static_encoder, context_weight=weight)
        return dict(scores(retriever, Query(text, context)))

    text, alone, other = "why?", total(0.0, "why?"), total(0.0, CONTEXT)
    assert total(0.0, text, CONTEXT) == alone
    found = total(0.25, text, CONTEXT)
    for skill_id, score in found.items():
        assert score == pytest.approx(alone[skill_id] + 0.25 * other[skill_id], abs=1e-9)


@pytest.mark.parametrize("module", MODES, ids=["dense", "hybrid", "skillsight"])
def test_a_context_without_a_word_changes_nothing_and_makes_no_query(
    build: Build, examples: Library, module: Any
) -> None:
    retriever = build(module.build, examples)
    query = Query("restart the pod")
    assert scores(retriever, replace(query, context=" \n🙂 -- ")) == scores(retriever, query)
    assert retriever.search(Query("...", CONTEXT)).hits == ()


# --- bodies -------------------------------------------------------------------------------


def test_what_stands_only_in_a_body_is_found_by_meaning(
    build: Build, examples: Library, minilm_encoder: Encoder
) -> None:
    body = "# Notes\n\nKeep the hamster cage dry.\n\n# More\n\nGive seeds and fresh water daily."
    library = lengthened(examples, Skill("zz", "handbook", "Assorted procedures.", body))
    text = "a pet rodent"

    def semantic(**settings: Any) -> list[str]:
        return names(
            build(dense.build, library, encoder=minilm_encoder, **settings).search(Query(text, k=1))
        )

    assert semantic() != ["handbook"]
    assert semantic(bodies="all", chunk_chars=50) == ["handbook"]
    both = build(skillsight.build, library, encoder=minilm_encoder, bodies="all", chunk_chars=50)
    (hit,) = [hit for hit in both.search(Query(text, k=48)).hits if hit.skill.name == "handbook"]
    assert hit.rank <= 2
    assert hit.signals["z_chunk"] > hit.signals["z_head"] + 1.0


def test_chunks_beyond_the_limit_are_not_read(build: Build, examples: Library) -> None:
    body = "alpha alpha\n\nomega omega"
    library = lengthened(examples, Skill("zz", "zz", "Nothing.", body))
    settings = {"bodies": "all", "chunk_chars": 50}

    def best(limit: int) -> float:
        retriever = build(
            dense.build, library, **{**settings, "chunk_chars": 50, "chunks_per_skill": limit}
        )
        found = retriever.search(Query("zz: omega omega", k=100)).hits
        return next(hit.signals["semantic"] for hit in found if hit.skill.id == "zz")

    long_body = body.replace("\n\n", " " * 3 + "x" * 48 + "\n\n")
    library = lengthened(examples, Skill("zz", "zz", "Nothing.", long_body))
    assert best(64) > best(1)


def test_the_common_default_of_bodies_gives_way_to_the_modes_own(
    build: Build, examples: Library
) -> None:
    common = {"bodies": "all"}
    assert build(dense.build, examples, defaults=common).settings.bodies == "all"
    own = build(dense.build, examples, defaults=common, bodies="lexical")
    assert own.settings.bodies == "lexical"


# --- signals and the score ----------------------------------------------------------------

ALWAYS = {
    "head", "body", "evidence", "evidence_body", "matched", "semantic", "calibrated", "z_head",
    "gain", "called", "background", "total", "z",
}  # fmt: skip
LONG = f"{FILLER} Why does the query take minutes, and does postgres-query-tuning help? {FILLER}"


@pytest.mark.parametrize("text", ["renew the certificate", "pdf form", "発票 pdf", LONG])
@pytest.mark.parametrize("bodies", ["lexical", "all"])
@pytest.mark.parametrize("keep", [0, 20, 48])
def test_signals_sum_to_the_score(
    build: Build, examples: Library, static_encoder: Encoder, text: str, bodies: str, keep: int
) -> None:
    skills = [
        skill if n < keep else replace(skill, body="") for n, skill in enumerate(examples.skills)
    ]
    library = Library(f"kept {keep}", tuple(skills))
    retriever = build(skillsight.build, library, encoder=static_encoder, bodies=bodies)
    hits = retriever.search(Query(text, k=48)).hits
    assert len(hits) == 48
    share = keep / 48
    expected = ALWAYS | ({"document", "z_document"} if keep else set())
    expected |= {"z_chunk"} if bodies == "all" else set()
    for hit in hits:
        signals = hit.signals
        assert set(signals) == expected
        total = 0.5 * signals["z_head"]  # the static encoder counts half
        total += (2.0 * share + 3.0 * (1.0 - share)) * signals["gain"]
        total += 1.5 * signals["called"]
        total += 0.75 * share * signals.get("z_document", 0.0)
        total += signals.get("z_chunk", 0.0)
        assert hit.score == pytest.approx(total, abs=1e-9)
        assert signals["total"] == hit.score
    totals = np.array([hit.score for hit in hits])
    zs = np.array([hit.signals["z"] for hit in hits])
    assert zs == pytest.approx((totals - totals.mean()) / totals.std(), abs=1e-9)


def test_signals_are_those_of_the_modes_they_come_from(
    build: Build, examples: Library, static_encoder: Encoder
) -> None:
    query = Query("renew the certificate before it expires", k=48)
    found = build(skillsight.build, examples, encoder=static_encoder).search(query)
    lexical = {hit.skill.id: hit for hit in build(bm25.build, examples).search(query).hits}
    semantic = {
        hit.skill.id: hit
        for hit in build(dense.build, examples, encoder=static_encoder).search(query).hits
    }
    mixed = build(hybrid.build, examples, encoder=static_encoder).search(query)
    for hit in (*found.hits, *mixed.hits):
        assert hit.signals["semantic"] == semantic[hit.skill.id].signals["semantic"]
        if hit.skill.id in lexical:
            own = dict(lexical[hit.skill.id].signals)
            own.pop("z")
            assert own.items() <= hit.signals.items()


def test_the_small_library_rule(build: Build, examples: Library, static_encoder: Encoder) -> None:
    def first(count: int) -> Any:
        library = Library(str(count), examples.skills[:count])
        retriever = build(skillsight.build, library, encoder=static_encoder)
        return retriever.search(Query("renew the certificate", k=1)).hits[0].signals

    assert first(29)["background"] == 0.0
    assert first(29)["calibrated"] == pytest.approx(first(29)["semantic"], abs=1e-6)
    assert first(30)["background"] >= 1.0
    assert first(30)["calibrated"] != pytest.approx(first(30)["semantic"], abs=1e-3)


def test_three_fusions_three_orders(
    build: Build, examples: Library, static_encoder: Encoder
) -> None:
    query = Query("long list of numbers into an overview for my boss")
    found = [
        scores(build(skillsight.build, examples, encoder=static_encoder, fusion=fusion), query)
        for fusion in ("evidence", "minmax", "published")
    ]
    assert len({tuple(name for name, _ in ranking) for ranking in found}) == 3
    # Within the blend nothing lies outside 0 to 1 but what is no candidate.
    assert all(score <= 1.0 for _, score in found[1])
    deep = build(
        skillsight.build, examples, encoder=static_encoder, fusion="minmax", fusion_depth=3
    )
    assert sum(score >= 0.0 for _, score in scores(deep, query)) <= 6


# --- odd input ----------------------------------------------------------------------------

ODD = {
    "chinese": "请帮我核对发票",
    "japanese": "パンが酸っぱい",
    "emoji and a word": "🍞🔥 bread",
    "one letter": "q",
    "right to left": "\u202e\u05e7\u05d1\u05e6",
    "control characters": "a\x00b\x07c",
    "lone surrogate": "broken \ud800 text",
    "combining marks": "e" + "\u0301" * 500,
    "no blank": "x" * 5000,
    "one megabyte": "The pod restarts and the log is full. " * 27_000,
    "one megabyte without a stop": "pod " * 262_144,
}


@pytest.mark.parametrize("module", MODES, ids=["dense", "hybrid", "skillsight"])
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_are_answered(
    build: Build, examples: Library, minilm_encoder: Encoder, module: Any, text: str
) -> None:
    retriever = build(module.build, examples, encoder=minilm_encoder)
    for query in (Query(text, k=48), Query("bread", text, k=48)):
        ranking = retriever.search(query)
        assert ranking.degraded is None
        assert len(ranking.hits) == 48
        assert np.isfinite([hit.score for hit in ranking.hits]).all()
        assert np.isfinite([list(hit.signals.values()) for hit in ranking.hits]).all()


@pytest.mark.parametrize("module", MODES, ids=["dense", "hybrid", "skillsight"])
@pytest.mark.parametrize("text", ["", " \n\t", "🙂🙂", "?!…", "\u200b\ufeff"])
def test_texts_that_say_nothing_find_nothing(
    build: Build, examples: Library, module: Any, text: str
) -> None:
    ranking = build(module.build, examples).search(Query(text))
    assert (ranking.hits, ranking.total, ranking.degraded) == ((), 0, None)


class _Zero:
    """Knows no text."""

    fingerprint = "zero"
    dim = 8

    def encode_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.zeros((len(texts), self.dim), dtype=np.float32)

    encode_queries = encode_documents


def test_an_encoder_that_knows_nothing_leaves_the_words(build: Build, examples: Library) -> None:
    query = Query("renew the certificate", k=48)
    assert build(dense.build, examples, encoder=_Zero()).search(query).hits == ()
    lexical = {hit.skill.id for hit in build(bm25.build, examples).search(query).hits}
    for module in (hybrid, skillsight):
        ranking = build(module.build, examples, encoder=_Zero(), **_all(module)).search(query)
        assert {hit.skill.id for hit in ranking.hits} == lexical
        assert names(ranking)[0] == "tls-certificate-renewal"
        assert np.isfinite([list(hit.signals.values()) for hit in ranking.hits]).all()


def _all(module: Any) -> dict[str, str]:
    return {"bodies": "all"} if module is skillsight else {}


# --- generations --------------------------------------------------------------------------


@pytest.mark.parametrize("module", [dense, skillsight], ids=["dense", "skillsight"])
def test_vectors_of_another_encoder_are_never_taken_over(
    build: Build, examples: Library, static_encoder: Encoder, module: Any
) -> None:
    other = FakeEncoder(dim=static_encoder.dim)  # the same length: only the name tells them apart
    query = Query("renew the certificate")
    before = build(module.build, examples, encoder=other)
    after = build(module.build, examples, encoder=static_encoder, previous=before)
    fresh = build(module.build, examples, encoder=static_encoder)
    assert scores(after, query) == scores(fresh, query) != scores(before, query)
    assert len({before.fingerprint, after.fingerprint}) == 2


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        (dense, {}, {"bodies": "all"}),
        (dense, {"bodies": "all"}, {}),
        (dense, {"bodies": "all", "chunk_chars": 200}, {"bodies": "all"}),
        (skillsight, {}, {"bodies": "all"}),
        (skillsight, {"rank": 3}, {}),
        (skillsight, {"hub_weight": 0.0}, {}),
        (skillsight, {}, {"rank": 0}),
    ],
)
def test_nothing_is_taken_over_that_other_settings_make_different(
    build: Build,
    examples: Library,
    static_encoder: Encoder,
    module: Any,
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    settings = {"encoder": static_encoder, "inline_texts": 10_000}
    first = build(module.build, examples, **settings, **before)
    second = build(module.build, examples, previous=first, **settings, **after)
    fresh = build(module.build, examples, **settings, **after)
    for text in ("renew the certificate", LONG):
        assert scores(second, Query(text)) == scores(fresh, Query(text))


@pytest.mark.parametrize("module", [dense, skillsight], ids=["dense", "skillsight"])
@pytest.mark.parametrize("bodies", ["lexical", "all"])
def test_history_leaves_no_trace(
    build: Build, examples: Library, static_encoder: Encoder, module: Any, bodies: str
) -> None:
    def opened(library: Library, previous: Any = None, kind: str = bodies) -> Any:
        return build(module.build, library, previous, static_encoder, bodies=kind)

    first, second, *rest = examples.skills
    steps = [
        Library("fewer", tuple(rest)),
        lengthened(examples, replace(second, id="zz", name="copy of it")),
        Library("edited", (replace(first, description="Something else altogether."), *rest)),
        Library("rotated", (*rest, second, first)),
    ]
    retriever = opened(examples, kind="all")
    for library in steps:
        retriever = opened(library, retriever)
        for text in ("renew the certificate", LONG):
            assert scores(retriever, Query(text)) == scores(opened(library), Query(text))


# --- settings -----------------------------------------------------------------------------

KINDS = {dense: SemanticSettings, hybrid: HybridSettings, skillsight: SkillSightSettings}
NUMBERS = [
    (module, field.name, value)
    for module, kind in KINDS.items()
    for field in fields(kind)
    if "low" in field.metadata
    for value in (field.metadata["low"] - 1, field.metadata["high"] + 1, "1", None, float("nan"))
]


@pytest.mark.parametrize(("module", "name", "value"), NUMBERS)
def test_numbers_out_of_range_are_refused(
    build: Build, examples: Library, module: Any, name: str, value: Any
) -> None:
    with pytest.raises(ConfigurationError, match=name):
        build(module.build, examples, **{name: value})


@pytest.mark.parametrize("module", MODES, ids=["dense", "hybrid", "skillsight"])
def test_unknown_settings_are_refused_with_a_hint(
    build: Build, examples: Library, module: Any
) -> None:
    known = fields(KINDS[module])[0].name
    with pytest.raises(UnknownSettingError, match=known):
        build(module.build, examples, **{f"{known}s": 1})


@pytest.mark.parametrize(
    ("module", "settings"),
    [(dense, {"bodies": "some"}), (skillsight, {"fusion": "rrf"}), (skillsight, {"bodies": 1})],
)
def test_choices_name_their_options(
    build: Build, examples: Library, module: Any, settings: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        build(module.build, examples, **settings)


@pytest.mark.parametrize("module", MODES, ids=["dense", "hybrid", "skillsight"])
def test_settings_at_the_ends_of_their_ranges_work(
    build: Build, examples: Library, module: Any
) -> None:
    numbers = [field for field in fields(KINDS[module]) if "low" in field.metadata]
    for end in ("low", "high"):
        chosen = {field.name: field.metadata[end] for field in numbers}
        chosen |= {"inline_texts": 100_000} if "inline_texts" in chosen else {}
        retriever = build(module.build, examples, **chosen)
        for text in ("renew the certificate", LONG):
            found = retriever.search(Query(text, CONTEXT, k=48)).hits
            assert np.isfinite([hit.score for hit in found]).all()
