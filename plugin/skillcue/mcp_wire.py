"""What the MCP Skills extension sends: its models, made of published skills.

Source: modelcontextprotocol/ext-skills, specification/stable/skills.mdx.
"""

from __future__ import annotations

from typing import Any, Literal

from mcp_types import (
    CacheableResult,
    PaginatedRequestParams,
    PaginatedResult,
    RequestParams,
    Resource,
)
from pydantic import BaseModel, Field

from skillcue.mcp_published import Child, PublishedSkill

__all__ = [
    "DirectoryParams",
    "DirectoryResult",
    "GetSkillParams",
    "GetSkillResult",
    "ListSkillsResult",
    "SkillEntry",
    "SkillFile",
    "child_resource",
    "skill_entry",
    "skill_resource",
]

TRUST_META = "skillcue/trust"
"""Key in the ``_meta`` of an entry: ``trusted`` or ``untrusted``."""
FOLDER_TYPE = "inode/directory"
"""MIME type of a folder."""


class SkillFile(BaseModel):
    """A file of a skill with its digest and size in bytes."""

    uri: str
    digest: str
    size: int


class SkillEntry(BaseModel):
    """One skill: where it is, its front matter, all its files."""

    uri: str
    frontmatter: dict[str, Any]
    resources: list[SkillFile]
    meta: dict[str, Any] = Field(serialization_alias="_meta")


class ListSkillsResult(PaginatedResult, CacheableResult):
    """Result of ``skills/list``."""

    skills: list[SkillEntry]
    result_type: Literal["complete"] = "complete"


class GetSkillResult(CacheableResult):
    """Result of ``skills/get``."""

    skill: SkillEntry
    result_type: Literal["complete"] = "complete"


class DirectoryResult(PaginatedResult):
    """Result of ``resources/directory/read``."""

    resources: list[Resource]
    result_type: Literal["complete"] = "complete"


class GetSkillParams(RequestParams):
    """Parameters of ``skills/get``."""

    uri: str


class DirectoryParams(PaginatedRequestParams):
    """Parameters of ``resources/directory/read``."""

    uri: str


def skill_entry(published: PublishedSkill) -> SkillEntry:
    """The entry of a skill, for ``skills/list`` and ``skills/get``."""
    return SkillEntry(
        uri=published.uri,
        frontmatter=dict(published.frontmatter),
        resources=[SkillFile(uri=f.uri, digest=f.digest, size=f.size) for f in published.files],
        meta=_meta(published),
    )


def skill_resource(published: PublishedSkill) -> Resource:
    """The SKILL.md of a skill, for ``resources/list``."""
    return Resource(
        uri=published.uri,
        name=published.frontmatter["name"],
        description=published.frontmatter["description"],
        mime_type="text/markdown",
        size=published.files[0].size,
        _meta=_meta(published),
    )


def child_resource(child: Child) -> Resource:
    """A file or folder, for ``resources/directory/read``."""
    return Resource(uri=child.uri, name=child.name, mime_type=child.mime_type or FOLDER_TYPE)


def _meta(published: PublishedSkill) -> dict[str, Any]:
    return {TRUST_META: published.skill.trust}
