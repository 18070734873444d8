"""Dense legs with one fault each; run by test_dense_leg_suite.py, not collected by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from skillcue_hooks.testing import DenseLegConformance

Store = dict[tuple[str, str], str]


class Overlap:
    """Words in common, in a store that all legs of a test share."""

    def __init__(self, store: Store, tenant: str) -> None:
        self.store = store
        self.tenant = tenant
        self.fingerprint = f"overlap {tenant}"
        self.changes = 0

    @property
    def revision(self) -> str:
        return f"r{self.changes}"

    def stored(self, ids: Sequence[str]) -> set[str]:
        return {i for i in ids if (self.tenant, i) in self.store}

    def upsert(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        new = {(self.tenant, i): text for i, text in zip(ids, texts, strict=True)}
        self.changes += not set(new) <= set(self.store)
        self.store.update(new)

    def delete(self, ids: Sequence[str]) -> None:
        self.changes += bool(self.stored(ids))
        for i in ids:
            self.store.pop((self.tenant, i), None)

    def search(self, text: str, k: int) -> list[tuple[str, float]]:
        own = {key: held for key, held in self.store.items() if key[0] == self.tenant}
        return [(i, score) for _, i, score in self.ranked(text, own)[:k]]

    def ranked(self, text: str, among: Store) -> list[tuple[str, str, float]]:
        asked = words(text)
        scored = [
            (tenant, i, len(asked & words(held)) / len(asked | words(held)))
            for (tenant, i), held in among.items()
        ]
        return sorted(scored, key=lambda item: (-item[2], item[1]))


def words(text: str) -> set[str]:
    return set(text.lower().strip(".").split())


class Suite(DenseLegConformance):
    leg_class: type[Overlap] = Overlap

    @pytest.fixture
    def open_leg(self) -> Callable[[str], Overlap]:
        store: Store = {}
        return lambda tenant: self.leg_class(store, tenant)


class TestCorrect(Suite):
    pass


class TestWithoutRevision(Suite):
    class leg_class(Overlap):
        revision = ""


class TestWorstFirst(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            return super().search(text, 1000)[::-1][:k]


class TestGivesDistances(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            return [(i, 1.0 - score) for i, score in super().search(text, k)]


class TestIgnoresK(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            return super().search(text, 1000)


class TestAllOrNothing(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            found = super().search(text, k)
            return found if len(found) == k else []


class TestAlwaysFindsSomething(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            return super().search(text, k) or [("0001", 0.0)]


class TestOneForAll(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            return [(i, score) for _, i, score in self.ranked(text, self.store)[:k]]


class TestFiltersWhatWasFound(Suite):
    class leg_class(Overlap):
        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            found = self.ranked(text, self.store)[: max(k, 20)]
            return [(i, score) for tenant, i, score in found if tenant == self.tenant][:k]


class TestDeletesLater(Suite):
    class leg_class(Overlap):
        def delete(self, ids: Sequence[str]) -> None:
            self.changes += bool(self.stored(ids))


class TestDeletesOnlyWhatItHas(Suite):
    class leg_class(Overlap):
        def delete(self, ids: Sequence[str]) -> None:
            if self.stored(ids) != set(ids):
                raise KeyError(ids)
            super().delete(ids)


class TestAppends(Suite):
    class leg_class(Overlap):
        def __init__(self, store: Store, tenant: str) -> None:
            super().__init__(store, tenant)
            self.again: list[str] = []

        def upsert(self, ids: Sequence[str], texts: Sequence[str]) -> None:
            self.again += [i for i in ids if (self.tenant, i) in self.store]
            super().upsert(ids, texts)

        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            found = super().search(text, k)
            return [hit for hit in found for _ in range(1 + self.again.count(hit[0]))][:k]


class TestRevisionStands(Suite):
    class leg_class(Overlap):
        revision = "r0"


class TestRevisionMovesWithEveryCall(Suite):
    class leg_class(Overlap):
        def upsert(self, ids: Sequence[str], texts: Sequence[str]) -> None:
            super().upsert(ids, texts)
            self.changes += 1


class TestSaysYesToAll(Suite):
    class leg_class(Overlap):
        def stored(self, ids: Sequence[str]) -> set[str]:
            return set(ids)


class TestKeepsToItself(Suite):
    class leg_class(Overlap):
        def __init__(self, store: Store, tenant: str) -> None:
            super().__init__({}, tenant)


class TestTwoAtOnceMixUp(Suite):
    class leg_class(Overlap):
        asked = ""

        def search(self, text: str, k: int) -> list[tuple[str, float]]:
            self.asked = text
            time.sleep(0.002)
            return super().search(self.asked, k)


class TestDeleted(Suite):
    test_it_returns_k = None  # type: ignore[assignment]
