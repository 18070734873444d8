"""Mode ``bm25`` over an index: see `skillcue_adapters.bm25` for the formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import VERSION, Bm25Settings, query_terms
from skillcue_adapters.indexed.panel import Panel
from skillcue_adapters.indexed.retriever import Asked, IndexedRetriever
from skillcue_adapters.indexed.words import PanelWords, QueryTerms
from skillcue_adapters.scoring import Scored
from skillcue_adapters.settings import number, read_settings
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.skill_index import View

__all__ = ["IndexedBm25Retriever", "IndexedBm25Settings", "build"]


@dataclass(frozen=True, slots=True)
class IndexedBm25Settings(Bm25Settings):
    """Settings of mode ``bm25`` over an index, besides those of `Bm25Settings`.

    Attributes:
        postings: The index looks at the rarest terms of a text until so many skills hold one of
            them, and puts those into order by all terms; 0 looks at all. Above 34,000 skills it
            grows with the root of their number, to five times as much. Other modes that have a
            lexical side keep to it as well.
    """

    postings: int = number(6_000, 0, 1_000_000_000)

    @property
    def budget(self) -> int | None:
        """See `IndexQuery.postings`."""
        return self.postings or None


class IndexedBm25Retriever(IndexedRetriever):
    """BM25 over head and body of the candidates. Signals are those of `Bm25Retriever`.

    Args:
        library: Whose index is asked.
        settings: Settings of the mode.
        mode: Name it is registered under.
    """

    def __init__(self, library: Library, settings: IndexedBm25Settings, mode: str = "bm25") -> None:
        identity = fingerprint("indexed bm25", VERSION, ANALYZER.fingerprint, asdict(settings))
        super().__init__(identity, library, mode)
        self.settings = settings

    def ask(self, query: Query) -> Asked:
        """See `IndexedRetriever.ask`."""
        terms = self.terms(query.text)
        context = None
        if query.context and self.settings.context_weight:
            context = self.terms(query.context)
        views = self.views(terms, context, self.settings.context_weight)

        def score(panel: Panel) -> Scored:
            return self.score(panel, terms, context)

        return Asked(views, score, 0, self.settings.budget, every=False)

    def terms(self, text: str) -> QueryTerms:
        """The terms of `text` that occur in the index."""
        return QueryTerms(*query_terms(text, self.settings), self.facts)

    def views(
        self, terms: QueryTerms, context: QueryTerms | None, weight: float
    ) -> tuple[View, ...]:
        """The legs of a text: by its own terms, and by those of the context as well.

        The sum of both, since that is what skills are ranked by: one that is far down in either
        may be on top in the sum.

        Args:
            terms: Of the text.
            context: Of the context, None where it does not count.
            weight: Of the context.
        """
        head, body = terms.weighted(self.settings)
        own = View(head=head, body=body)
        if context is None:
            return (own,)
        more = [{t: weight * w for t, w in of.items()} for of in context.weighted(self.settings)]
        return own, View(head=_added(head, more[0]), body=_added(body, more[1]))

    def words(self, panel: Panel, terms: QueryTerms) -> PanelWords:
        """What a text says about the rows of a panel."""
        return PanelWords(panel, terms, self.settings)

    def score(self, panel: Panel, terms: QueryTerms, context: QueryTerms | None) -> Scored:
        """Scores of the rows of a panel."""
        words = self.words(panel, terms)
        scores = words.total
        if context is not None:
            scores = scores + self.settings.context_weight * self.words(panel, context).total
        mean, deviation = panel.spread(words.total)

        def signals(row: int) -> Mapping[str, float]:
            z = (float(words.total[row]) - mean) / deviation if deviation > 0.0 else 0.0
            return {**words.signals(row), "z": z}

        return Scored(scores, words.matched, signals)


def _added(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {term: one.get(term, 0.0) + other.get(term, 0.0) for term in {**one, **other}}


def build(library: Library, context: RetrieverContext) -> IndexedBm25Retriever:
    """Factory of mode ``bm25`` for a library in an index.

    Raises:
        UnknownSettingError: `context.settings` holds a name that `IndexedBm25Settings` has not.
        ConfigurationError: A setting is out of range.
    """
    settings = read_settings(IndexedBm25Settings, context.settings, context.mode)
    return IndexedBm25Retriever(library, settings, context.mode)
