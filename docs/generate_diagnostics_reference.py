"""Writes docs/reference/diagnostics.md from the codes the library can emit."""

from __future__ import annotations

from docstrings import inline, write

from skillcue.library import CODES

INTRO = """# Diagnostics

Everything in a library that is not clean is a `Diagnostic` in `cue.diagnostics`, and a line of
`skillcue doctor`. No skill file that was found is left out without one. Its fields: `code`, `severity`,
`path`, `line` (from 1, or None), `message` (what was found) and `remedy`.

| severity | means |
| --- | --- |
| error | something its author wrote is missing from the library, or a skill lost its trust |
| warning | it was mended in memory, or needs a look; the skill works |
| info | by design; nothing needs to be done |

Files are never changed. `strict=True` turns every warning about a file into a rejection of that
file. Words such as `body_chars` are [limits of reading](settings.md#reading). What begins with
`scan-` is said by the built-in scanner, with `lock-` or `frozen-` by the lock file, see
[Pin and scan skills](../how-to/pin-and-scan-skills.md). An assessor plugin has codes of its own.
See [Fix skill files](../how-to/fix-skill-files.md).
"""


def main() -> None:
    parts = [INTRO]
    for severity in ("error", "warning", "info"):
        parts.append(f"## {severity.capitalize()}\n")
        for code, entry in sorted(CODES.items()):
            if entry.severity == severity:
                parts.append(
                    f"### {code}\n\n{inline(entry.meaning)}\n\n*Remedy:* {inline(entry.remedy)}\n"
                )
    write("diagnostics.md", "generate_diagnostics_reference.py", "\n".join(parts))


if __name__ == "__main__":
    main()
