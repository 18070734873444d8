"""Skills with the search terms that ``skillcue augment`` made for them."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from skillcue_adapters.augment.augmentation import content_key
from skillcue_adapters.augment.store import AugmentationStore
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError

__all__ = ["Augmented"]

log = logging.getLogger("skillcue.augment")


class Augmented:
    """Adds search terms to the skills of a snapshot; see `skillcue.library.snapshot.Enrich`.

    What is stored is looked at again with every new snapshot, never for one that is there: a
    generation stands for one state of the index.

    Args:
        cache_dir: The user's cache folder.

    Raises:
        ConfigurationError: There is none.
    """

    def __init__(self, cache_dir: Path | None) -> None:
        if cache_dir is None:
            raise ConfigurationError(
                "augment=True needs a folder.",
                "Pass cache=FOLDER, the folder of `skillcue augment --cache FOLDER`.",
            )
        self._cache_dir = cache_dir
        self._known: dict[str, tuple[Skill, Skill]] = {}

    def __call__(self, skills: tuple[Skill, ...]) -> tuple[Skill, ...]:
        """The same skills, those of which something is stored with `Skill.search_terms`."""
        store = AugmentationStore(self._cache_dir)
        if store.is_empty and skills:
            log.warning("nothing is augmented in %s: run `skillcue augment`", self._cache_dir)
        found = {skill.id: (skill, self._with_terms(skill, store)) for skill in skills}
        self._known = found
        return tuple(enriched for _, enriched in found.values())

    def _with_terms(self, skill: Skill, store: AugmentationStore) -> Skill:
        made = store.best(content_key(skill))
        terms = () if made is None else made.terms()
        before = self._known.get(skill.id)
        # The same object as before lets retrievers see at once that nothing changed.
        if before is not None and before[0] == skill and before[1].search_terms == terms:
            return before[1]
        return replace(skill, search_terms=terms) if terms else skill
