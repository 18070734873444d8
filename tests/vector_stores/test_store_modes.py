"""`SkillCue(vectors=...)`: the rankings, what may be seen, what edits and failures do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import write_skill
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.memory import InMemoryStore
from support.store_embeddings import DIM, CountingEmbeddings, llamaindex_embedding

from skillcue import SkillCue
from skillcue.langchain import from_vectorstore
from skillcue.langgraph import from_store
from skillcue.llamaindex import from_llamaindex
from skillcue.push import fitting
from skillcue_adapters import batched_work
from skillcue_adapters.vector_stores import retriever as retrievers
from skillcue_hooks import Skill, hookimpl
from skillcue_hooks.contracts import Scope
from skillcue_hooks.dense_leg import DenseLeg
from skillcue_hooks.errors import ConfigurationError, UnknownSettingError

QUERIES = (
    "merge two pdf files",
    "my pods keep crashing",
    "wie kündige ich einen vertrag",
    "sourdough that does not rise",
    "who broke the build?",
    "clean up a table of numbers",
)


class Shop(InMemoryVectorStore):
    """A store that counts what is asked of it, and is out of order when it is told to."""

    def __init__(self, embeddings: CountingEmbeddings) -> None:
        super().__init__(embeddings)
        self.down: type[Exception] | None = None
        self.searches = 0
        self.fails_at: set[int] = set()
        self.writes = threading.Event()
        self.writes.set()

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        self.searches += 1
        if self.searches in self.fails_at:
            raise PermissionError("too many requests")
        if self.down:
            raise self.down("secret")
        return super().similarity_search_with_score(query, k, **kwargs)

    def add_documents(self, documents: Any, ids: Any = None, **kwargs: Any) -> list[str]:
        assert self.writes.wait(60)
        if self.down:
            raise self.down("secret")
        return super().add_documents(documents, ids, **kwargs)


@pytest.fixture
def embeddings() -> CountingEmbeddings:
    return CountingEmbeddings()


@pytest.fixture
def shop(embeddings: CountingEmbeddings) -> Shop:
    return Shop(embeddings)


@pytest.fixture
def leg(shop: Shop) -> DenseLeg:
    return from_vectorstore(shop)


@contextmanager
def cue_of(folder: Path, leg: Any, **settings: Any) -> Iterator[SkillCue]:
    options = {"wait": True, "cache": False, "recheck": "always", **settings}
    with SkillCue(folder, vectors=leg, **options) as cue:
        yield cue


def ids(cue: SkillCue, text: str, **options: Any) -> list[str]:
    ranking = cue.lookup(text, **options)
    assert ranking.degraded is None
    return [hit.skill.id for hit in ranking.hits]


# --- rankings -------------------------------------------------------------------------------


def in_langchain() -> DenseLeg:
    return from_vectorstore(InMemoryVectorStore(CountingEmbeddings()))


def in_langgraph() -> DenseLeg:
    return from_store(InMemoryStore(index={"dims": DIM, "embed": CountingEmbeddings()}))


def in_llamaindex() -> DenseLeg:
    from llama_index.core import VectorStoreIndex

    return from_llamaindex(VectorStoreIndex([], embed_model=llamaindex_embedding()))


@pytest.mark.parametrize("make", [in_langchain, in_langgraph, in_llamaindex])
@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_it_ranks_as_with_the_same_vectors_at_hand(
    example_skills: Path, make: Callable[[], DenseLeg], mode: str
) -> None:
    with (
        cue_of(example_skills, make()) as over_store,
        SkillCue(example_skills, encoder="static", wait=True) as at_hand,
    ):
        for text in QUERIES:
            for page in ({"k": 10}, {"k": 5, "offset": 7}):
                found = ids(over_store, text, mode=mode, **page)
                assert found == ids(at_hand, text, mode=mode, **page), (text, page)


def test_hybrid_is_the_default(example_skills: Path, leg: DenseLeg) -> None:
    with cue_of(example_skills, leg) as cue:
        ranking = cue.lookup("merge two pdf files")
    assert ranking.mode == "hybrid"
    assert {"semantic", "evidence", "z"} <= set(ranking.hits[0].signals)


def test_push_decides_over_a_store(example_skills: Path, leg: DenseLeg) -> None:
    with cue_of(example_skills, leg) as cue:
        advice = cue.advise([{"role": "user", "content": "Please merge two PDF files."}])
        thanks = cue.advise([{"role": "user", "content": "Thanks, that is all for today!"}])
    assert advice.degraded is None
    assert [hit.skill.name for hit in advice.hits][:1] == ["pdf-merge-split"]
    assert thanks.decision == "abstain"


def test_fitting_the_gate_goes_on_where_a_search_failed(
    skills_copy: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that allows so many requests a minute fails in the middle of some 500."""
    write_skill(skills_copy, "fit-me", "A library that no other test has fitted the gate to.")
    whole = 300
    shop.fails_at = {whole}
    monkeypatch.setattr(fitting, "READY_S", 0.0)
    with cue_of(skills_copy, from_vectorstore(shop), wait=False) as cue:
        cue.wait_ready(120)
        asked = shop.searches
        assert asked == whole
        cue.wait_ready(120)
        advice = cue.advise([{"role": "user", "content": "Please merge two PDF files."}])
    assert advice.degraded is None
    assert shop.searches - asked < whole


def test_the_context_changes_the_order(example_skills: Path, leg: DenseLeg) -> None:
    talk = "We bake bread with a starter of rye."
    with cue_of(example_skills, leg) as cue:
        plain = ids(cue, "how long does it take", k=48, mode="dense")
        told = ids(cue, "how long does it take", k=48, mode="dense", context=talk)
    bread = "sourdough-baking@home-garden/sourdough-baking"
    assert told.index(bread) < plain.index(bread)
    assert sorted(told) == sorted(plain)


def test_skills_with_the_same_text_are_stored_once_and_tie_by_id(
    tmp_path: Path, shop: Shop
) -> None:
    for folder in ("a", "b", "c"):
        write_skill(tmp_path / folder, "twin", "Fold paper cranes.", f"# {folder}\n")
    write_skill(tmp_path, "other", "Bake bread.")
    with cue_of(tmp_path, from_vectorstore(shop)) as cue:
        found = ids(cue, "fold paper cranes", mode="dense")
    assert found[:3] == ["twin@a/twin", "twin@b/twin", "twin@c/twin"]
    assert len(shop.store) == 2


def test_the_modes_that_build_on_another_build_on_hybrid(
    example_skills: Path, leg: DenseLeg
) -> None:
    class Longest:
        fingerprint = "longest"

        def score(self, query: str, texts: Any) -> list[float]:
            return [float(len(text)) for text in texts]

    with cue_of(example_skills, leg, cross_encoder=Longest()) as cue:
        ranking = cue.lookup("merge two pdf files", mode="two_stage")
    assert ranking.degraded is None
    assert "semantic" in ranking.hits[0].signals


# --- filters, policies, tenants ---------------------------------------------------------------


def test_filters_and_scopes_reach_down_the_whole_library(tmp_path: Path, shop: Shop) -> None:
    for number in range(150):
        write_skill(tmp_path / "near", f"soup-{number}", f"Cook the soup number {number}.")
    write_skill(tmp_path / "far", "bicycle", "Repair a bicycle chain.")

    class Policy:
        @hookimpl
        def skillcue_filter_skills(self, context: Any, library: Any) -> Scope | None:
            if "hide" not in context:
                return None
            return Scope("no soup", lambda skill: not skill.name.startswith("soup"))

    leg = from_vectorstore(shop)
    with cue_of(tmp_path, leg, mode="dense", plugins=[Policy()]) as cue:
        assert ids(cue, "cook soup", filters={"category": "far"}) == ["bicycle@far/bicycle"]
        assert ids(cue, "cook soup", run_context={"hide": True}) == ["bicycle@far/bicycle"]
        assert len(ids(cue, "cook soup", k=120, filters={"category": "near"})) == 120


def test_tenants_share_a_store(tmp_path: Path, shop: Shop) -> None:
    for tenant, name in (("acme", "soup"), ("other", "bread")):
        write_skill(tmp_path / tenant, name, f"Make {name}.")
        write_skill(tmp_path / tenant, "both", "What both have.")
    legs = {name: from_vectorstore(shop, tenant=name) for name in ("acme", "other")}
    with (
        cue_of(tmp_path / "acme", legs["acme"], mode="dense") as acme,
        cue_of(tmp_path / "other", legs["other"], mode="dense") as other,
    ):
        assert sorted(ids(acme, "make bread")) == ["both@both", "soup@soup"]
        assert sorted(ids(other, "make soup")) == ["both@both", "bread@bread"]
    assert len(shop.store) == 4


# --- what is stored ---------------------------------------------------------------------------


def test_an_edit_costs_its_own_text_and_deletes_the_old_one(
    skills_copy: Path, shop: Shop, embeddings: CountingEmbeddings, leg: DenseLeg
) -> None:
    with cue_of(skills_copy, leg) as cue:
        before = set(shop.store)
        embeddings.seen.documents.clear()
        write_skill(skills_copy / "coding", "git-bisect", "Repair a bicycle chain.")
        assert ids(cue, "repair my bicycle")[0] == "git-bisect@coding/git-bisect"
        assert len(embeddings.seen.documents) == 1
        assert len(shop.store) == len(before)
        assert len(before - set(shop.store)) == 1


def test_a_skill_that_is_removed_is_removed_from_the_store(
    skills_copy: Path, shop: Shop, leg: DenseLeg
) -> None:
    with cue_of(skills_copy, leg) as cue:
        before = len(shop.store)
        (skills_copy / "coding" / "git-bisect" / "SKILL.md").unlink()
        assert "git-bisect@coding/git-bisect" not in ids(cue, "find the commit", k=50)
        assert len(shop.store) == before - 1


def test_a_second_start_stores_nothing_again(
    example_skills: Path, shop: Shop, embeddings: CountingEmbeddings
) -> None:
    with cue_of(example_skills, from_vectorstore(shop)):
        pass
    stored = len(embeddings.seen.documents)
    with cue_of(example_skills, from_vectorstore(shop)) as cue:
        progress = cue.progress()
    assert progress is not None
    assert (progress.texts, progress.new) == (stored, 0)
    assert len(embeddings.seen.documents) == stored


class Silent(Shop):
    """It cannot tell what it holds."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


def test_where_a_store_cannot_tell_the_cache_folder_does(
    example_skills: Path, tmp_path: Path, embeddings: CountingEmbeddings
) -> None:
    shop = Silent(embeddings)
    folder = tmp_path / "cache"
    for _ in range(2):
        with cue_of(example_skills, from_vectorstore(shop), cache=folder):
            assert len(embeddings.seen.documents) == len(shop.store)
    with cue_of(example_skills, from_vectorstore(shop)):
        assert len(embeddings.seen.documents) == 2 * len(shop.store)


def test_what_was_removed_meanwhile_is_deleted_at_the_next_start(
    skills_copy: Path, tmp_path: Path, shop: Shop
) -> None:
    folder = tmp_path / "cache"
    with cue_of(skills_copy, from_vectorstore(shop), cache=folder):
        before = len(shop.store)
    (skills_copy / "coding" / "git-bisect" / "SKILL.md").unlink()
    with cue_of(skills_copy, from_vectorstore(shop), cache=folder) as cue:
        assert len(shop.store) == before - 1
        assert ids(cue, "merge two pdf files")


def test_documents_of_others_are_left_alone(example_skills: Path, shop: Shop) -> None:
    shop.add_documents([Document("How to merge two pdf files", id="mine")])
    with cue_of(example_skills, from_vectorstore(shop)) as cue:
        assert ids(cue, "how to merge two pdf files")[0].startswith("pdf-merge-split")
    assert "mine" in shop.store


def test_a_store_that_was_emptied_is_filled_again(
    example_skills: Path, shop: Shop, leg: DenseLeg, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrievers, "REST_S", 0.0)
    with cue_of(example_skills, leg) as cue:
        stored = len(shop.store)
        shop.store.clear()
        assert cue.lookup("merge two pdf files").degraded == "the vector store finds nothing"
        assert cue.wait_ready(60)
        assert len(shop.store) == stored
        assert ids(cue, "merge two pdf files")


def cleared_langchain() -> tuple[DenseLeg, Callable[[], None], Callable[[], int]]:
    store = InMemoryVectorStore(CountingEmbeddings())
    return from_vectorstore(store), store.store.clear, lambda: len(store.store)


def cleared_langgraph() -> tuple[DenseLeg, Callable[[], None], Callable[[], int]]:
    store = InMemoryStore(index={"dims": DIM, "embed": CountingEmbeddings()})

    def items() -> list[Any]:
        return list(store.search((), limit=10_000))

    def clear() -> None:
        for item in items():
            store.delete(item.namespace, item.key)

    return from_store(store), clear, lambda: len(items())


def cleared_llamaindex() -> tuple[DenseLeg, Callable[[], None], Callable[[], int]]:
    from llama_index.core import VectorStoreIndex

    index = VectorStoreIndex([], embed_model=llamaindex_embedding())
    store: Any = index.vector_store
    return from_llamaindex(index), store.clear, lambda: len(store.data.embedding_dict)


CLEARED = pytest.mark.parametrize(
    "make", [cleared_langchain, cleared_langgraph, cleared_llamaindex]
)


@CLEARED
def test_every_kind_of_store_is_filled_again_by_the_process_that_runs_and_by_the_next(
    example_skills: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrievers, "REST_S", 0.0)
    leg, clear, size = make()
    with cue_of(example_skills, leg) as cue:
        whole = size()
        clear()
        assert cue.lookup("merge two pdf files").degraded == "the vector store finds nothing"
        assert cue.wait_ready(60)
        assert size() == whole
        clear()
    with cue_of(example_skills, leg) as cue:
        assert size() == whole
        assert ids(cue, "merge two pdf files", mode="dense")


@CLEARED
@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_an_edit_after_a_store_was_emptied_does_not_hide_that(
    skills_copy: Path,
    make: Any,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The text of the edit alone is stored, and so the store finds something."""
    monkeypatch.setattr(retrievers, "REST_S", 0.0)
    leg, clear, size = make()
    with cue_of(skills_copy, leg, mode=mode) as cue:
        whole = size()
        clear()
        write_skill(skills_copy / "coding", "git-bisect", "Repair a bicycle chain.")
        first = cue.lookup("merge two pdf files")
        assert first.degraded == "the vector store finds too few"
        assert first.hits[0].skill.name == "pdf-merge-split"
        assert cue.wait_ready(60)
        assert size() == whole
        assert len(ids(cue, "merge two pdf files", k=whole)) == whole
    assert "approximate" not in caplog.text


def test_a_text_that_is_lost_is_noticed_and_stored_alone(
    example_skills: Path, shop: Shop, embeddings: CountingEmbeddings, leg: DenseLeg
) -> None:
    with cue_of(example_skills, leg, mode="dense") as cue:
        whole = set(shop.store)
        del shop.store[min(whole)]
        embeddings.seen.documents.clear()
        assert cue.lookup("merge two pdf files").degraded == "the vector store finds too few"
        assert cue.wait_ready(60)
        assert set(shop.store) == whole
        assert len(embeddings.seen.documents) == 1


def test_what_was_found_in_a_store_that_lacked_texts_is_not_remembered(
    example_skills: Path, shop: Shop, leg: DenseLeg, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process fills it again, so that nothing is left to store here."""
    monkeypatch.setattr(retrievers, "REST_S", 0.0)
    with cue_of(example_skills, leg, mode="dense") as cue:
        whole = dict(shop.store)
        get_by_ids = shop.get_by_ids

        def filled_first(keys: Any, /) -> list[Document]:
            shop.store.update(whole)
            return get_by_ids(keys)

        monkeypatch.setattr(shop, "get_by_ids", filled_first)
        del shop.store[min(whole)]
        assert cue.lookup("merge two pdf files", k=48).degraded is not None
        assert cue.wait_ready(60)
        assert len(ids(cue, "merge two pdf files", k=48)) == 48


class InStep(Shop):
    """Answers two at a time, once it is told to."""

    both: threading.Barrier | None = None

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        found = super().similarity_search_with_score(query, k, **kwargs)
        if self.both:
            self.both.wait(60)
        return found


def test_two_that_find_too_few_at_once_do_not_confirm_each_other(
    example_skills: Path, embeddings: CountingEmbeddings
) -> None:
    shop = InStep(embeddings)
    with cue_of(example_skills, from_vectorstore(shop)):
        pass
    with cue_of(example_skills, from_vectorstore(shop), mode="dense") as cue:
        for key in sorted(shop.store)[1:]:
            del shop.store[key]
        shop.both = threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            rankings = list(pool.map(cue.lookup, ("merge two pdf files", "bake bread")))
        shop.both = None
    for ranking in rankings:
        assert ranking.degraded == "the vector store finds too few"


class Approximate(Shop):
    """Finds so many at most, as an index that looks at a part of the vectors."""

    most = 40

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return super().similarity_search_with_score(query, min(k, self.most), **kwargs)


def test_an_approximate_index_is_believed_once_it_lacks_nothing(
    skills_copy: Path,
    embeddings: CountingEmbeddings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(retrievers, "REST_S", 0.0)
    shop = Approximate(embeddings)
    with cue_of(skills_copy, from_vectorstore(shop), mode="dense") as cue:
        whole = len(shop.store)
        cue.lookup("merge two pdf files")
        assert cue.wait_ready(60)
        for text in QUERIES:
            assert ids(cue, text)
        assert "finds 40 of 48 texts" in caplog.text
        write_skill(skills_copy / "coding", "git-bisect", "Repair a bicycle chain.")
        assert ids(cue, "repair my bicycle")[0] == "git-bisect@coding/git-bisect"

        for thing in ("car", "boat"):
            shop.store.clear()
            write_skill(skills_copy / "coding", "git-bisect", f"Repair a {thing}.")
            ranking = cue.lookup(f"repair my {thing}")
            assert ranking.degraded == "the vector store finds too few"
            assert cue.wait_ready(60)
            assert len(shop.store) == whole
            assert ids(cue, f"repair my {thing}")[0] == "git-bisect@coding/git-bisect"


def test_a_store_that_cannot_tell_is_believed_where_it_fills_the_page(
    example_skills: Path, embeddings: CountingEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrievers, "REST_S", 0.0)
    shop = Silent(embeddings)
    with cue_of(example_skills, from_vectorstore(shop), mode="dense") as cue:
        for key in sorted(shop.store)[3:]:
            del shop.store[key]
        assert len(ids(cue, "merge two pdf files", k=3)) == 3
        for _ in range(2):
            ranking = cue.lookup("merge two pdf files", k=4)
            assert ranking.degraded == "the vector store finds too few"
            assert len(ranking.hits) == 4
            assert cue.wait_ready(60)


def test_what_is_changed_through_the_leg_is_noticed(
    example_skills: Path, shop: Shop, leg: DenseLeg
) -> None:
    with cue_of(example_skills, leg) as cue:
        stored = {document["metadata"]["skillcue_id"] for document in shop.store.values()}
        gone = sorted(stored)[:10]
        leg.delete(gone)
        assert "checked" in str(cue.lookup("merge two pdf files").degraded)
        assert cue.wait_ready(60)
        assert len(shop.store) == len(stored)
        assert ids(cue, "merge two pdf files")


def test_two_libraries_of_one_tenant_do_not_fight(tmp_path: Path, leg: DenseLeg) -> None:
    """That is a mistake; but what one takes away is put back, and both stay."""
    for name in ("soup", "bread"):
        write_skill(tmp_path / name, name, f"Make {name}.")
    with (
        cue_of(tmp_path / "soup", leg, mode="dense") as soup,
        cue_of(tmp_path / "bread", leg, mode="dense") as bread,
    ):
        soup.lookup("soup")
        assert soup.wait_ready(60)
        bread.lookup("bread")
        assert bread.wait_ready(60)
        assert ids(soup, "soup") == ["soup@soup"]
        assert ids(bread, "bread") == ["bread@bread"]


# --- meanwhile, and failures --------------------------------------------------------------------


def test_until_all_is_stored_answers_are_lexical(
    example_skills: Path, shop: Shop, leg: DenseLeg
) -> None:
    shop.writes.clear()
    modes = {"dense": {"inline_ms": 0}}
    with cue_of(example_skills, leg, modes=modes, wait=False, cache=None) as cue:
        first = cue.lookup("merge two pdf files")
        assert first.hits[0].skill.name == "pdf-merge-split"
        assert first.degraded is not None
        shop.writes.set()
        assert cue.wait_ready(60)
        whole = cue.lookup("merge two pdf files")
        assert (whole.degraded, whole.cached) == (None, False)
        assert cue.lookup("merge two pdf files").cached


def test_a_store_that_fails_while_it_is_filled_is_tried_again(
    example_skills: Path, shop: Shop, leg: DenseLeg, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.down = ConnectionError
    with cue_of(example_skills, leg, wait=False) as cue:
        assert not cue.wait_ready(60)
        ranking = cue.lookup("merge two pdf files")
        assert ranking.degraded == "storing failed: ConnectionError"
        assert ranking.hits
        shop.down = None
        monkeypatch.setattr(batched_work, "RETRY_S", 0.0)
        cue.lookup("merge two pdf files")
        assert cue.wait_ready(60)
        assert ids(cue, "merge two pdf files")


def test_a_search_that_fails_gives_a_lexical_answer_that_is_not_cached(
    example_skills: Path, shop: Shop, leg: DenseLeg, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "skillcue.vectors")
    with cue_of(example_skills, leg, cache=None) as cue:
        shop.down = ConnectionError
        for _ in range(3):
            ranking = cue.lookup("merge two pdf files")
            assert ranking.degraded == "the vector store failed: ConnectionError"
            assert ranking.hits[0].skill.name == "pdf-merge-split"
            assert not ranking.cached
        assert len(caplog.records) == 1
        shop.down = None
        assert cue.lookup("merge two pdf files").degraded is None


def test_a_store_that_fails_slowly_is_left_alone(
    example_skills: Path, shop: Shop, leg: DenseLeg, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrievers, "SLOW_S", 0.0)
    monkeypatch.setattr(retrievers, "REST_S", 1000.0)
    with cue_of(example_skills, leg) as cue:
        shop.down = TimeoutError
        cue.lookup("merge two pdf files")
        asked = shop.searches
        shop.down = None
        again = cue.lookup("merge two pdf files")
        assert again.degraded == "the vector store failed: TimeoutError"
        assert shop.searches == asked


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{"mode": "skillsight"}, {"encoder": "static"}, {"bodies": "all"}],
    ids=lambda settings: next(iter(settings)),
)
def test_what_does_not_go_with_a_store_is_said_at_once(
    example_skills: Path, leg: DenseLeg, settings: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match=r"(?i)leave"):
        SkillCue(example_skills, vectors=leg, **settings)


def test_skillsight_asked_for_later_says_why_not(example_skills: Path, leg: DenseLeg) -> None:
    with cue_of(example_skills, leg) as cue, pytest.raises(ConfigurationError, match="hybrid"):
        cue.lookup("merge two pdf files", mode="skillsight")


def test_a_store_that_is_not_wrapped_names_the_cure(example_skills: Path, shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match=r"from_vectorstore\(store\)"):
        SkillCue(example_skills, vectors=shop)


def test_an_unknown_setting_of_dense_names_those_there_are(
    example_skills: Path, leg: DenseLeg
) -> None:
    modes = {"dense": {"dept": 3}}
    with (
        cue_of(example_skills, leg, modes=modes, wait=False) as cue,
        pytest.raises(UnknownSettingError, match="depth"),
    ):
        cue.lookup("merge two pdf files")


def test_what_is_no_store_is_said() -> None:
    wrong: Any = "store"
    for make in (from_vectorstore, from_store, from_llamaindex):
        with pytest.raises(ConfigurationError, match="str"):
            make(wrong)


def test_a_langgraph_store_without_an_index_is_said() -> None:
    with pytest.raises(ConfigurationError, match="no index"):
        from_store(InMemoryStore())


@pytest.mark.parametrize("tenant", ["", None, 3])
def test_a_tenant_is_a_text(shop: Shop, tenant: Any) -> None:
    with pytest.raises(ConfigurationError, match="tenant"):
        from_vectorstore(shop, tenant=tenant)


def test_another_model_stores_anew(example_skills: Path, shop: Shop) -> None:
    with cue_of(example_skills, from_vectorstore(shop, fingerprint="one")):
        stored = len(shop.store)
    with cue_of(example_skills, from_vectorstore(shop, fingerprint="two")) as cue:
        assert ids(cue, "merge two pdf files")
    assert len(shop.store) == 2 * stored


def test_the_hit_is_the_librarys_own_skill(example_skills: Path, leg: DenseLeg) -> None:
    with cue_of(example_skills, leg) as cue:
        hit = cue.lookup("merge two pdf files").hits[0]
        assert isinstance(hit.skill, Skill)
        assert hit.skill in cue.list()
