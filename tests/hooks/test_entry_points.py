"""Plugins of installed distributions, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillcue_hooks.manager import BLOCK_ENV, LOAD_ENV, build_manager

PLUGIN = """
from skillcue_hooks import hookimpl

@hookimpl
def skillcue_render_advice(advice):
    return {answer!r}
"""

PROGRAM = """
import json, logging, sys
from skillcue_hooks import Advice
from skillcue_hooks.manager import build_manager

logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
{setup}
manager = build_manager({builtins}, {plugins}, {block})
answers = manager.collect("skillcue_render_advice", lambda *_: None, advice=Advice("abstain"))
print(json.dumps([manager.describe(), answers, sys.modules.keys() & {{"alpha", "beta"}} == set()]))
"""


@dataclass(frozen=True)
class Loaded:
    records: dict[str, dict[str, Any]]
    answers: list[str]
    log: str
    untouched: bool
    """Neither plugin module was even imported."""


@dataclass(frozen=True)
class Site:
    """A folder of installed distributions."""

    folder: Path

    def install(self, dist: str, version: str, entries: dict[str, str], **modules: str) -> None:
        """Lay out `modules` and the metadata that an installer would write for them."""
        for module, text in modules.items():
            (self.folder / f"{module}.py").write_text(text, "utf-8")
        info = self.folder / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata, "utf-8")
        lines = "".join(f"{name} = {target}\n" for name, target in entries.items())
        (info / "entry_points.txt").write_text(f"[skillcue]\n{lines}", "utf-8")

    def load(
        self,
        *,
        environ: dict[str, str] | None = None,
        setup: str = "",
        builtins: str = "{}",
        plugins: str = "()",
        block: str = "()",
    ) -> Loaded:
        """Build a manager in a new process that sees this folder."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SKILL"))}
        path = [str(self.folder), *filter(None, [inherited.get("PYTHONPATH")])]
        program = PROGRAM.format(setup=setup, builtins=builtins, plugins=plugins, block=block)
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**inherited, "PYTHONPATH": os.pathsep.join(path), **(environ or {})},
        )
        records, answers, untouched = json.loads(run.stdout)
        return Loaded({r["name"]: r for r in records}, answers, run.stderr, untouched)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Two good plugins; the later one by name answers first."""
    site = Site(tmp_path)
    site.install("alpha-dist", "1.2.3", {"alpha": "alpha"}, alpha=PLUGIN.format(answer="alpha"))
    site.install("beta-dist", "0.4", {"beta": "beta"}, beta=PLUGIN.format(answer="beta"))
    return site


def test_installed_plugins_are_loaded_in_order_of_their_names(site: Site) -> None:
    site.install("aaa-dist", "1", {"gamma": "aaa"}, aaa=PLUGIN.format(answer="gamma"))
    loaded = site.load()
    assert loaded.answers == ["gamma", "beta", "alpha"]
    assert loaded.records["alpha"] == {
        "name": "alpha",
        "distribution": "alpha-dist",
        "version": "1.2.3",
        "hooks": ["skillcue_render_advice"],
        "blocked": False,
    }
    assert loaded.records["beta"]["version"] == "0.4"


def test_plugins_of_the_user_come_before_installed_ones_and_those_before_built_ins(
    site: Site,
) -> None:
    setup = """
from skillcue_hooks import hookimpl
class Says:
    def __init__(self, answer):
        self.answer = answer
    @hookimpl
    def skillcue_render_advice(self, advice):
        return self.answer
"""
    loaded = site.load(setup=setup, builtins='{"zeta": Says("built in")}', plugins='[Says("mine")]')
    assert loaded.answers == ["mine", "beta", "alpha", "built in"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise RuntimeError('no licence')", "no licence"),
        ("import a_module_that_is_not_installed", "a_module_that_is_not_installed"),
        (PLUGIN.format(answer="x").replace("render_advice", "render_advise"), "Did you mean"),
        (PLUGIN.format(answer="x").replace("def", "async def"), "async function"),
        (PLUGIN.format(answer="x").replace("advice)", "advise)"), "'advise' is none of"),
        ("x = 1", "implements no hook"),
    ],
    ids=["raises", "import", "misspelt", "async", "argument", "empty"],
)
def test_a_broken_plugin_is_named_with_its_version_and_skipped(
    site: Site, text: str, reason: str
) -> None:
    site.install("broken-dist", "9.8.7", {"azure": "broken"}, broken=text)
    loaded = site.load()
    assert loaded.answers == ["beta", "alpha"]
    assert "azure" not in loaded.records
    (line,) = [line for line in loaded.log.splitlines() if "plugin azure (" in line]
    assert line.startswith("WARNING skillcue.plugins plugin azure (broken-dist 9.8.7)")
    assert reason in line


def test_an_empty_list_of_names_loads_and_imports_nothing(site: Site) -> None:
    loaded = site.load(environ={LOAD_ENV: ""})
    assert (loaded.records, loaded.untouched, loaded.log) == ({}, True, "")


@pytest.mark.parametrize(
    ("text", "answers"), [("alpha", ["alpha"]), (" beta ,alpha,", ["beta", "alpha"])]
)
def test_a_list_of_names_loads_those(site: Site, text: str, answers: list[str]) -> None:
    loaded = site.load(environ={LOAD_ENV: text})
    assert loaded.answers == answers
    assert loaded.log == ""


def test_a_name_that_is_not_installed_is_reported(site: Site) -> None:
    loaded = site.load(environ={LOAD_ENV: "alpha,gamma,delta"})
    assert loaded.answers == ["alpha"]
    assert f"{LOAD_ENV} names delta, gamma, which no distribution has" in loaded.log


def test_blocked_plugins_are_not_even_imported(site: Site) -> None:
    loaded = site.load(environ={BLOCK_ENV: "alpha"}, block='["beta"]')
    assert loaded.answers == []
    assert loaded.untouched
    assert loaded.records["alpha"]["blocked"]
    assert loaded.records["alpha"]["version"] == ""
    assert loaded.records["beta"]["blocked"]


def test_the_entry_point_of_a_built_in_is_not_registered_again(site: Site) -> None:
    loaded = site.load(
        environ={LOAD_ENV: "alpha"}, setup="import alpha", builtins='{"alpha": alpha}'
    )
    assert loaded.answers == ["alpha"]
    assert loaded.log == ""


def test_a_stranger_under_the_name_of_a_built_in_is_reported(site: Site) -> None:
    loaded = site.load(environ={LOAD_ENV: "beta"}, setup="import alpha", builtins='{"beta": alpha}')
    assert loaded.answers == ["alpha"]
    assert "plugin beta (beta-dist 0.4) is not loaded" in loaded.log
    assert "registered twice" in loaded.log


@pytest.mark.parametrize("first_on_path", ["site", "other"])
def test_of_two_distributions_with_one_name_the_first_by_its_own_name_wins(
    site: Site, tmp_path_factory: pytest.TempPathFactory, first_on_path: str
) -> None:
    other = Site(tmp_path_factory.mktemp("other"))
    other.install("zeta-dist", "7", {"beta": "other"}, other=PLUGIN.format(answer="other"))
    folders = [str(site.folder), str(other.folder), *sys.path]
    if first_on_path == "other":
        folders[:2] = reversed(folders[:2])
    environ = {LOAD_ENV: "beta", "PYTHONPATH": os.pathsep.join(folders)}
    loaded = site.load(environ=environ)
    assert loaded.answers == ["beta"]
    assert loaded.records["beta"]["distribution"] == "beta-dist"
    assert "plugin beta (zeta-dist 7) is not loaded" in loaded.log


def test_an_entry_point_may_name_an_object_in_a_module(site: Site) -> None:
    text = PLUGIN.format(answer="object") + (
        "\nclass Plugin:\n"
        "    skillcue_render_advice = staticmethod(skillcue_render_advice)\n"
        "plugin = Plugin()\n"
    )
    site.install("object-dist", "1", {"object": "holder:plugin"}, holder=text)
    assert site.load(environ={LOAD_ENV: "object"}).answers == ["object"]


def test_under_pytest_nothing_is_loaded_unless_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(site.folder)
    monkeypatch.delenv(LOAD_ENV, raising=False)
    assert build_manager({}).describe() == []
    asked = build_manager({}, environ={"PYTEST_VERSION": "9", LOAD_ENV: "alpha"})
    assert [record["name"] for record in asked.describe()] == ["alpha"]
    assert site.load(environ={"PYTEST_VERSION": "9"}).records == {}
