"""`DenseLegConformance`: what every `DenseLeg` must do, as a suite to subclass.

::

    class TestMyStore(DenseLegConformance):
        @pytest.fixture
        def open_leg(self):
            store = MyStore(embedding=...)
            return lambda tenant: my_package.from_my_store(store, tenant=tenant)

All legs that one fixture opens are over the same store, which is empty at first. A standard test may
only be replaced under ``@pytest.mark.xfail(reason=...)``, as in `RetrieverConformance`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillcue_hooks.dense_leg import DenseLeg
from skillcue_hooks.testing.standard_suite import StandardSuite

__all__ = ["DenseLegConformance", "OpenLeg"]

OpenLeg = Callable[[str], DenseLeg]
"""Opens the leg of a tenant."""

_TEXTS = {
    "0001": "Fill in PDF forms and flatten them.",
    "0002": "Find the commit that broke a test with git bisect.",
    "0003": "Bake sourdough bread.",
    "0004": "Cook a vegetable soup.",
}

_CROWD = 60
"""Texts of other tenants that are all more similar to a query than the tenant's own."""


class DenseLegConformance(StandardSuite):
    """Subclass it and provide the `open_leg` fixture; see the module's example."""

    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        """Opens the leg of a tenant; must be overridden."""
        raise NotImplementedError("override the `open_leg` fixture")

    @pytest.fixture
    def leg(self, open_leg: OpenLeg) -> DenseLeg:
        """The leg under test, with four texts in it."""
        leg = open_leg("acme")
        leg.upsert(list(_TEXTS), list(_TEXTS.values()))
        return leg

    def test_it_fills_the_role(self, leg: DenseLeg) -> None:
        assert isinstance(leg, DenseLeg)
        assert leg.fingerprint
        assert leg.revision

    def test_the_most_similar_comes_first(self, leg: DenseLeg) -> None:
        for wanted, text in _TEXTS.items():
            assert _ids(leg, text, 2)[0] == wanted

    def test_scores_fall(self, leg: DenseLeg) -> None:
        scores = [score for _, score in leg.search(_TEXTS["0003"], 4)]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > scores[-1]

    @pytest.mark.parametrize("k", [1, 2, 3, 4])
    def test_it_returns_k(self, leg: DenseLeg, k: int) -> None:
        found = _ids(leg, "soup", k)
        assert len(found) == len(set(found)) == k

    def test_it_returns_all_where_there_are_fewer(self, leg: DenseLeg) -> None:
        assert sorted(_ids(leg, "soup", 100)) == sorted(_TEXTS)

    def test_a_leg_without_texts_finds_nothing(self, open_leg: OpenLeg) -> None:
        assert _ids(open_leg("nobody"), "soup", 3) == []

    def test_tenants_do_not_see_each_other(self, open_leg: OpenLeg, leg: DenseLeg) -> None:
        other = open_leg("other")
        assert other.fingerprint != leg.fingerprint
        other.upsert(["0003", "0009"], [_TEXTS["0003"], "Repair bicycles."])
        assert sorted(_ids(other, "bake bread", 10)) == ["0003", "0009"]
        assert sorted(_ids(leg, "repair bicycles", 10)) == sorted(_TEXTS)
        other.delete(["0003"])
        assert _ids(leg, _TEXTS["0003"], 1) == ["0003"]
        assert _ids(other, _TEXTS["0003"], 3) == ["0009"]

    def test_a_tenant_in_a_crowd_gets_k(self, open_leg: OpenLeg, leg: DenseLeg) -> None:
        """What others have is more similar, and must not take the places of the tenant's own."""
        crowd = open_leg("crowd")
        names = [f"1{number:03}" for number in range(_CROWD)]
        crowd.upsert(names, [f"Cook soup number {number}." for number in range(_CROWD)])
        assert sorted(_ids(leg, "Cook soup number 7.", 4)) == sorted(_TEXTS)

    def test_deletes_are_visible(self, leg: DenseLeg) -> None:
        leg.delete(["0003"])
        assert "0003" not in _ids(leg, _TEXTS["0003"], 10)
        assert len(_ids(leg, _TEXTS["0003"], 10)) == 3
        leg.upsert(["0003"], [_TEXTS["0003"]])
        assert _ids(leg, _TEXTS["0003"], 1) == ["0003"]

    def test_deleting_what_is_unknown_changes_nothing(self, leg: DenseLeg) -> None:
        leg.delete(["no-such-id"])
        assert len(_ids(leg, "soup", 10)) == 4

    def test_upserts_are_idempotent(self, leg: DenseLeg) -> None:
        leg.upsert(list(_TEXTS), list(_TEXTS.values()))
        leg.upsert(["0004", "0001"], [_TEXTS["0004"], _TEXTS["0001"]])
        found = _ids(leg, _TEXTS["0004"], 10)
        assert sorted(found) == sorted(_TEXTS)

    def test_the_revision_moves_with_changes_alone(self, leg: DenseLeg) -> None:
        seen = [leg.revision]
        leg.upsert(["0001"], [_TEXTS["0001"]])
        leg.search("soup", 3)
        leg.delete([])
        assert leg.revision == seen[0]
        leg.upsert(["0005"], ["Repair bicycles."])
        seen.append(leg.revision)
        leg.delete(["0005"])
        seen.append(leg.revision)
        assert len(set(seen)) == 3

    def test_what_is_stored_is_told_or_nothing_is(self, open_leg: OpenLeg, leg: DenseLeg) -> None:
        told = leg.stored(["0001", "no-such-id"])
        assert told is None or set(told) == {"0001"}
        told = open_leg("nobody").stored(["0001"])
        assert told is None or not told

    def test_another_leg_of_the_tenant_finds_the_same(
        self, open_leg: OpenLeg, leg: DenseLeg
    ) -> None:
        other = open_leg("acme")
        assert other.fingerprint == leg.fingerprint
        assert other.search("bake bread", 4) == leg.search("bake bread", 4)

    def test_threads_get_the_same_answer(self, leg: DenseLeg) -> None:
        texts = list(_TEXTS.values()) * 8
        expected = [_ids(leg, text, 3) for text in texts]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda text: _ids(leg, text, 3), texts)) == expected


def _ids(leg: DenseLeg, text: str, k: int) -> list[str]:
    return [found for found, _ in leg.search(text, k)]
