"""States of any kind a ``StateGraph`` takes: dict, TypedDict, Pydantic model, dataclass, list."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

from langgraph.types import Command
from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict, is_typeddict

from skillcue.langchain_state import newer_records
from skillcue.placement import remove_advice

__all__ = ["extended_schema", "node_schema", "read_key", "stripped_output", "with_messages"]

Records = Annotated[dict[str, list[str]], newer_records]


def node_schema(messages_key: str, records_key: str, private: Mapping[str, Any]) -> Any:
    """Input schema of the advisor node: the user's messages and our private channels.

    `messages` is declared without a reducer on purpose: that never clashes with the user's own
    declaration of the channel, while any other reducer would.
    """
    fields: dict[str, Any] = {messages_key: list, records_key: Records, **private}
    return TypedDict("SkillState", fields, total=False)  # type: ignore[operator]  # built at run time


def extended_schema(schema: Any, records_key: str) -> Any | None:
    """`schema` plus the records channel, so that a wrapped node can read what was decided.

    None where `schema` is not a kind that can be extended; the node then works without records.
    """
    if not isinstance(schema, type):
        return None
    if is_typeddict(schema):
        hints = get_type_hints(schema, include_extras=True)
        return TypedDict(schema.__name__, {**hints, records_key: Records}, total=False)  # type: ignore[operator]  # built at run time
    if issubclass(schema, BaseModel):
        field: Any = (Records, Field(default_factory=dict))
        return create_model(schema.__name__, __base__=schema, **{records_key: field})
    if dataclasses.is_dataclass(schema):
        extra: Any = (records_key, Records, dataclasses.field(default_factory=dict, kw_only=True))
        frozen = schema.__dataclass_params__.frozen  # type: ignore[attr-defined]  # no public way
        return dataclasses.make_dataclass(schema.__name__, [extra], bases=(schema,), frozen=frozen)
    return None


def read_key(state: Any, key: str) -> Any:
    """`state[key]` or ``state.key``; None where there is none."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def with_messages(state: Any, key: str, messages: list[Any], hidden: str = "") -> Any:
    """A copy of `state` with other messages, and without the channel `hidden` in a dict."""
    if isinstance(state, list):
        return messages
    if isinstance(state, Mapping):
        kept = {name: value for name, value in state.items() if name != hidden}
        return {**kept, key: messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={key: messages})
    return dataclasses.replace(state, **{key: messages})


def stripped_output(output: Any, key: str) -> Any:
    """What a node returned, without advice in any message of it."""
    if isinstance(output, Command):
        return dataclasses.replace(output, update=stripped_output(output.update, key))
    if isinstance(output, list):
        if all(hasattr(item, "content") for item in output):
            return remove_advice(output)
        return [stripped_output(item, key) for item in output]
    messages = read_key(output, key)
    if not isinstance(messages, list):
        return output
    clean = remove_advice(messages)
    if all(new is old for new, old in zip(clean, messages, strict=False)) and len(clean) == len(
        messages
    ):
        return output
    if isinstance(output, Mapping):
        return {**output, key: clean}
    return with_messages(output, key, clean)
