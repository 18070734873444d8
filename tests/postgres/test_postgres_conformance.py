"""`PostgresIndex` does what every index must, on a real server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skillcue_adapters.postgres import PostgresIndex
from skillcue_hooks.skill_index import SkillIndex
from skillcue_hooks.testing import SkillIndexConformance


class TestPostgres(SkillIndexConformance):
    @pytest.fixture
    def index_factory(self, postgres_url: str, postgres_schema: str) -> Callable[[], SkillIndex]:
        return lambda: PostgresIndex(postgres_url, schema=postgres_schema)
