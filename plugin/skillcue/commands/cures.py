"""What to type where the cure of an error is a line of Python."""

from __future__ import annotations

import re

__all__ = ["typed_cure"]

_TYPED = {
    ", or pass a chat model, an LLM or a function.": "",
    ", or an object with a method score.": ".",
    "Search for it with skill_lookup, or list the library with skill_list.": "Find it with "
    "`skillcue search` or `skillcue list`.",
    "Pass a page from": "Give --page from",
    "Pass page 1, or none.": "Give --page 1, or none.",
    "Pass one: SkillCue(..., llm=model).": "Name one: --llm openai:MODEL@URL",
    'SkillCue(..., cross_encoder="onnx:/path/to/model").': "--cross-encoder onnx:/path/to/model",
}
"""What cures say to programs and agents, and the same for whoever types."""

_PATTERNS = (
    (re.compile(r"Raise CallLimits\(timeout_s=([\d.e+]+)\)"), r"Raise --llm-timeout (\1)"),
    (re.compile(r"lower CallLimits\(concurrency=\d+\), "), ""),
    (re.compile(r"\(setting `(commands|money|seconds|tokens)`\)"), r"(--\1)"),
)
"""The same for cures with a number or a name in them."""


def typed_cure(cure: str) -> str:
    """`cure` with options and commands in the place of Python and of tools."""
    for written, option in _TYPED.items():
        cure = cure.replace(written, option)
    for pattern, option in _PATTERNS:
        cure = pattern.sub(option, cure)
    return cure
