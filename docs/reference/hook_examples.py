"""One working plugin a hook; the page Hooks shows them, and a test runs each of them."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from skillcue_hooks import Diagnostic, Scope, Skill, SourceScan, TurnQuery, hookimpl
from skillcue_hooks.fingerprint import fingerprint


class TrustedOnly:
    """What another retriever finds, without skills of untrusted sources."""

    def __init__(self, inner):
        self._inner = inner
        self.fingerprint = f"trusted-only {inner.fingerprint}"
        self.generation = inner.generation

    def search(self, query):
        filters = (*query.filters, ("trust", "trusted"))
        return replace(self._inner.search(replace(query, filters=filters)), mode="trusted")


class AddsTrustedMode:
    """Adds the mode ``trusted``, which searches like ``bm25`` among trusted skills only."""

    @hookimpl
    def skillcue_register_retrievers(self, register):
        register("trusted", lambda library, context: TrustedOnly(context.retriever("bm25")))


class LetterPairs:
    """Encodes a text by how often it has each pair of letters: `dim` numbers, length 1."""

    def __init__(self, dim):
        self.dim = dim
        self.fingerprint = f"letter-pairs {dim}"

    def encode_documents(self, texts):
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            letters = re.findall(r"\w", text.casefold())
            for first, second in pairwise(letters):
                row[(ord(first) * 31 + ord(second)) % self.dim] += 1
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.maximum(norms, 1e-9)

    encode_queries = encode_documents


class AddsLetterPairs:
    """Adds the encoder scheme ``pairs``, as in ``pairs:256``: no model, no download."""

    @hookimpl
    def skillcue_register_encoders(self, register):
        register("pairs", lambda size: LetterPairs(int(size)))


class JsonSource:
    """Skills from one JSON file: a list of objects with `name`, `description` and `body`."""

    trust = "untrusted"

    def __init__(self, path):
        self.label = path.name
        self._path = path

    def scan(self, previous):
        text = self._path.read_text("utf-8")
        mark = fingerprint(text)
        if previous is not None and previous.fingerprint == mark:
            return previous
        skills, problems = [], []
        for number, entry in enumerate(json.loads(text), 1):
            try:
                skills.append(self._skill(**entry))
            except TypeError as error:
                problems.append(self._problem(number, error))
        return SourceScan(tuple(skills), tuple(problems), mark)

    def _skill(self, name, description, body):
        return Skill(
            id=f"{name}@{name}",
            name=name,
            description=description,
            body=body,
            path=self._path,
            source=self.label,
            content_hash=fingerprint(name, description, body),
            trust=self.trust,
        )

    def _problem(self, number, error):
        return Diagnostic(
            code="json-entry",
            severity="error",
            path=self._path,
            line=None,
            message=f"Entry {number} is left out: {error}.",
            remedy="Give it a name, a description and a body, and nothing else.",
        )

    def read_body(self, skill):
        return skill.body

    def base_dir(self, skill):
        return None


class OpensJson:
    """Opens ``SkillCue("json:shared/skills.json")``; other texts are left to other plugins."""

    @hookimpl
    def skillcue_open_source(self, spec):
        scheme, _, path = spec.partition(":")
        return JsonSource(Path(path)) if scheme == "json" else None


class TrustedInProduction:
    """Uses the mode ``trusted`` for requests about production, in libraries of 20 or more."""

    @hookimpl
    def skillcue_select_mode(self, turn, library_size):
        production = "production" in turn.user_text.casefold()
        return "trusted" if production and library_size >= 20 else None


class OwnFolderAndShared:
    """Shows a team the skills of its own folder and of ``shared``; without a team, only those.

    The key holds what the answer depends on, so that runs of one team share cached rankings.
    """

    @hookimpl
    def skillcue_filter_skills(self, context):
        team = context.get("team")
        return Scope(
            f"folder {team!r}",
            lambda skill: skill.category.split("/")[0] in ("shared", team),
        )


class NoPipesIntoShells:
    """Distrusts a skill that pipes a download into a shell, and says in which line."""

    @hookimpl
    def skillcue_assess_skill(self, skill):
        return tuple(
            Diagnostic(
                code="download-into-shell",
                severity="error",
                path=skill.path,
                line=None,
                message=f"Line {number} of the body pipes a download into a shell.",
                remedy="Download the file, look at it, then run it.",
            )
            for number, line in enumerate(skill.body.splitlines(), 1)
            if re.search(r"\b(curl|wget)\b.*\|\s*(ba|z)?sh\b", line)
        )


class NoLinksToPastes:
    """Distrusts a file beside a skill that links to a place where anybody can leave a text."""

    @hookimpl
    def skillcue_assess_file(self, path, text):
        return tuple(
            Diagnostic(
                code="link-to-paste",
                severity="error",
                path=path,
                line=number,
                message="A link leads to a paste, which anybody can have written.",
                remedy="Put what it says into the file.",
            )
            for number, line in enumerate(text.splitlines(), 1)
            if "https://paste.example.org/" in line
        )


class KnowsTickets:
    """Searches for the title of a ticket where the message names one; others stay as they are."""

    def __init__(self):
        self._titles = {"INC-7": "A pod in our kubernetes cluster keeps crashing"}

    @hookimpl
    def skillcue_build_query(self, turn):
        named = [title for name, title in self._titles.items() if name in turn.user_text]
        if not named:
            return None
        return TurnQuery("\n".join([turn.user_text, *named]), context="\n".join(turn.earlier))


class OneLine:
    """Offers skills in one line, by their names alone."""

    @hookimpl
    def skillcue_render_advice(self, advice):
        names = ", ".join(hit.skill.name for hit in advice.hits)
        return f"Written instructions exist for this: {names}. Read one with skill_load."


class Robot:
    """An agent class of your own, which skillcue knows nothing about."""

    def __init__(self):
        self.tools = []
        self.before_turn = []


class AttachesToRobots:
    """Makes ``cue.attach(robot)`` add the pull tools and an advisor that runs before each turn."""

    @hookimpl
    def skillcue_attach(self, target, cue):
        if not isinstance(target, Robot):
            return None
        tools = cue.tools()
        target.tools += [tools.lookup, tools.load, tools.list]
        target.before_turn.append(cue.advise)
        return target


class CountsDecisions:
    """Counts how often push spoke and how often it stayed silent, by mode."""

    def __init__(self):
        self.decisions = Counter()

    @hookimpl
    def skillcue_advised(self, advice):
        self.decisions[advice.mode, advice.decision] += 1


class CollectsGaps:
    """Collects the lookups whose words no skill holds: skills that somebody should write."""

    def __init__(self):
        self.gaps = []

    @hookimpl
    def skillcue_looked_up(self, query, ranking):
        known = any(hit.signals.get("matched", 1.0) for hit in ranking.hits)
        if not known and query.offset == 0:
            self.gaps.append(query.text)


class LogsLoads:
    """Logs which skill was read, which file of it, and how much of that was shown."""

    @hookimpl
    def skillcue_loaded(self, loaded):
        logging.getLogger("audit").info(
            "%s %s page %d of %d",
            loaded.skill.id,
            loaded.file or "SKILL.md",
            loaded.page,
            loaded.pages,
        )
