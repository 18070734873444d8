"""Every diagnostic the library can emit: its severity, what it means and what to do about it.

The reference page of diagnostics is generated from `CODES`, so a code that is not listed here
cannot be emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillcue.library.code import Code
from skillcue.library.lock_codes import LOCK_CODES
from skillcue.library.relation_codes import RELATION_CODES
from skillcue.library.scan_codes import SCAN_CODES
from skillcue_hooks.contracts import Diagnostic

__all__ = ["CODES", "Code", "diagnostic"]


CODES: Mapping[str, Code] = {
    # Bytes and characters
    "file-unreadable": Code(
        "error",
        "The operating system refuses to open or read the file.",
        "Give the process read permission, or remove the folder from the library.",
    ),
    "not-a-regular-file": Code(
        "error",
        "SKILL.md is a pipe, socket or device; it is not opened.",
        "Replace it with an ordinary text file.",
    ),
    "not-text": Code(
        "error",
        "More than a quarter of the file is not readable as text.",
        "Save it as UTF-8 text.",
    ),
    "file-too-large": Code(
        "warning",
        "The file is larger than the limit file_bytes; only its beginning was read.",
        "Move long material into files beside SKILL.md, or raise file_bytes.",
    ),
    "encoding-utf16": Code(
        "warning",
        "The file is UTF-16 or UTF-32, not UTF-8; it was converted in memory.",
        "Save it as UTF-8.",
    ),
    "encoding-invalid": Code(
        "warning",
        "Some bytes are not valid in the file's encoding; each became U+FFFD.",
        "Save it as UTF-8; the message names the first bad byte.",
    ),
    "control-characters": Code(
        "warning",
        "Control characters were left out (those that separate words became a blank).",
        "Delete them from the file.",
    ),
    "invisible-characters": Code(
        "warning",
        "Zero-width, direction-changing or tag characters were left out; they can hide text.",
        "Delete them, and look at what the file says without them.",
    ),
    "body-shortened": Code(
        "info",
        "Only the beginning of the body is indexed (limit body_chars); loading gives all of it.",
        "Put the words a search should find early, or raise body_chars.",
    ),
    # The header and its fences
    "header-missing": Code(
        "warning",
        "The file has no front matter; folder name and first paragraph stand in for it.",
        "Start the file with a line ---, then name: and description:, then another line ---.",
    ),
    "header-empty": Code(
        "warning",
        "Nothing stands between the two --- lines.",
        "Put name: and description: between them.",
    ),
    "header-unterminated": Code(
        "warning",
        "The front matter has no closing --- line; what comes before the first blank line, "
        "heading or rule was taken as the header.",
        "Close the front matter with a line that holds exactly three hyphens.",
    ),
    "header-not-a-map": Code(
        "error",
        "The front matter is a list, not 'key: value' lines; nothing in it could be used.",
        "Write it as lines such as 'name: my-skill' and 'description: what it is for'.",
    ),
    "header-too-large": Code(
        "warning",
        "The front matter exceeds header_chars, header_nodes or header_depth; the fields that "
        "fit were kept.",
        "Move long or deeply nested data into a file beside SKILL.md.",
    ),
    "text-before-header": Code(
        "warning",
        "Blank lines, comments or headings stand before the opening --- line.",
        "Make --- the first line of the file.",
    ),
    "fence-trailing-blanks": Code(
        "warning",
        "A --- line has blanks behind it, which some other readers do not accept.",
        "Delete the blanks.",
    ),
    # Fields
    "value-repaired": Code(
        "warning",
        "The value is not valid YAML; it was taken as plain text.",
        "Put the value in double quotes.",
    ),
    "comment-kept": Code(
        "warning",
        "YAML reads the rest of the line as a comment; it was kept as part of the value.",
        "Put the value in double quotes.",
    ),
    "field-unreadable": Code(
        "warning",
        "A field could not be read and was left out; the other fields were kept.",
        "Correct its YAML: quotes, brackets and indentation.",
    ),
    "field-not-text": Code(
        "warning",
        "A field that must be text holds a list or a map; it was turned into text.",
        "Write the value as one line of text.",
    ),
    "field-not-boolean": Code(
        "warning",
        "A field that must be true or false holds something else; its default counts.",
        "Write true or false.",
    ),
    "allowed-tools-unclear": Code(
        "info",
        "A rule of allowed-tools is in a form that skillcue does not know; where it enforces them, "
        "the rule allows nothing.",
        "Write a tool's name, or a command behind it: Bash(git status), Bash(git:*).",
    ),
    "key-duplicate": Code(
        "warning",
        "A key occurs more than once; the first one counts.",
        "Delete the other one.",
    ),
    "key-spelling": Code(
        "warning",
        "A key is not spelled as the format has it; it was accepted.",
        "Use the spelling the message gives.",
    ),
    "name-missing": Code(
        "warning",
        "There is no name; the folder name stands in for it.",
        "Add name: with the name of the folder.",
    ),
    "name-unsafe": Code(
        "warning",
        "The name is longer than name_chars, or holds blanks or one of @ / % \\, which ids "
        "percent-encode.",
        "Use letters, digits and hyphens, at most 64 characters.",
    ),
    "name-folder-mismatch": Code(
        "warning",
        "Name and folder differ; the folder name works as an alias while it is unique.",
        "Give both the same name.",
    ),
    "file-name-spelling": Code(
        "warning",
        "The file is not spelled SKILL.md, so other readers miss it on most systems, or it "
        "stands beside another spelling that was used instead.",
        "Rename it to SKILL.md and keep one.",
    ),
    "description-missing": Code(
        "warning",
        "There is no description; the first paragraph of the body stands in for it.",
        "Add description: with what the skill does and when to use it.",
    ),
    "description-unavailable": Code(
        "warning",
        "There is neither a description nor a paragraph; the skill loads by name and is never "
        "pushed.",
        "Add description: with what the skill does and when to use it.",
    ),
    "description-long": Code(
        "warning",
        "The description is longer than description_chars; all of it is kept and indexed.",
        "Shorten it: other readers skip or cut such skills.",
    ),
    "strict-rejected": Code(
        "error",
        "The library is read strictly and the file is not clean, so it was left out.",
        "Correct the warnings the message lists.",
    ),
    "reader-failed": Code(
        "error",
        "The reader itself failed on this file; the others are not affected.",
        "Please report it with the file.",
    ),
    # Folders and links
    "folder-unreadable": Code(
        "error",
        "The operating system refuses to list the folder.",
        "Give the process permission to read and enter it.",
    ),
    "skill-file-is-folder": Code(
        "error",
        "SKILL.md is a folder.",
        "Rename it, or put the text file in its place.",
    ),
    "link-broken": Code(
        "error",
        "A link points nowhere, or in a circle.",
        "Correct or delete the link.",
    ),
    "link-outside": Code(
        "error",
        "A link leaves the folders that may be read, so it was not followed.",
        "Copy the target into the library, or name its folder in allowed_roots.",
    ),
    "link-already-seen": Code(
        "info",
        "A link leads to a folder that was entered already, or to one around the source; what it "
        "holds is shown once.",
        "Nothing, unless the link is a mistake.",
    ),
    "depth-limit": Code(
        "warning",
        "Folders deeper than walk_depth were not entered.",
        "Pass a folder nearer to the skills, or raise walk_depth.",
    ),
    "folder-limit": Code(
        "error",
        "The source holds more folders than walk_folders; the rest was not entered.",
        "Pass a folder nearer to the skills, or raise walk_folders.",
    ),
    "nested-skills": Code(
        "warning",
        "The source is itself a skill, so SKILL.md files further down belong to it and are not "
        "skills of their own.",
        "Pass the folder that holds them as a source of its own.",
    ),
    "no-skills-found": Code(
        "warning",
        "The source exists and holds no skill.",
        "Check the path: each skill is a folder with a file SKILL.md in it.",
    ),
    # The library as a whole
    "source-missing": Code(
        "error",
        "The folder of the source is gone or cannot be listed; what was read before is kept.",
        "Bring the folder back, or build the library again without it.",
    ),
    "source-failed": Code(
        "error",
        "The source raised an exception; what was read before is kept.",
        "See the message; other sources are not affected.",
    ),
    "source-unreachable": Code(
        "error",
        "The place that the source is fetched from does not answer, or not in time; what was "
        "fetched before is kept.",
        "See the message; it is tried again by itself.",
    ),
    "source-refused": Code(
        "error",
        "What the source was given is unsafe, too large, or not what was pinned; what was fetched "
        "before is kept.",
        "See the message. Do not raise a limit for a source that you do not know.",
    ),
    "source-part-left-out": Code(
        "warning",
        "A file, link, row or skill of a fetched source was left out; the rest is used.",
        "See the message; its owner can correct it.",
    ),
    "equal-content": Code(
        "info",
        "Several SKILL.md files hold the same text; the first is shown, the ids of the others "
        "lead to it.",
        "Delete the copies if they are not wanted.",
    ),
    "name-collision": Code(
        "warning",
        "Several skills with different text have one name; the name loads the first, the others "
        "load by id.",
        "Give them different names, or load the others by the ids in the message.",
    ),
    "assessment-failed": Code(
        "error",
        "An assessor raised an exception, so the skill is untrusted and never pushed, or the file "
        "is quoted.",
        "See the message; correct or remove the plugin.",
    ),
    **SCAN_CODES,
    **LOCK_CODES,
    **RELATION_CODES,
}
"""Code to what it stands for."""


def diagnostic(code: str, path: Path, message: str, line: int | None = None) -> Diagnostic:
    """A diagnostic with the severity and the remedy that `CODES` has for `code`.

    Raises:
        KeyError: The code is not documented.
    """
    entry = CODES[code]
    printable = message.encode("utf-8", "backslashreplace").decode("utf-8")  # odd file names
    return Diagnostic(code, entry.severity, path, line, printable, entry.remedy)
