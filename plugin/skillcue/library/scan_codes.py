"""What the built-in scanner reports: severity, meaning and remedy of each of its codes.

``error`` is for what nobody writes into a skill by accident; it makes the skill untrusted. What has
honest uses is a ``warning``.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillcue.library.code import Code

__all__ = ["SCAN_CODES"]

_UNTRUST = (
    "Read the line. Remove the skill, or the line; if it is meant as it stands, run without the "
    "scanner for this library."
)
_READ = "Read the line, and decide whether the skill may stay."

SCAN_CODES: Mapping[str, Code] = {
    "scan-address-to-shell": Code(
        "error", "What a numeric internet address sends is piped into a shell.", _UNTRUST
    ),
    "scan-bidi": Code("warning", "Controls change the direction of writing.", _READ),
    "scan-bidi-override": Code(
        "error", "A direction override shows the text in another order than it has.", _UNTRUST
    ),
    "scan-comment": Code(
        "warning", "An HTML comment, which a rendered page does not show, speaks to a model.", _READ
    ),
    "scan-conceal": Code("warning", "The text asks to keep something from the user.", _READ),
    "scan-data-link": Code("warning", "A link holds a whole document (data:).", _READ),
    "scan-download-to-shell": Code("warning", "A download is piped into a shell.", _READ),
    "scan-decoded-to-shell": Code("warning", "Base64 text is decoded and run.", _READ),
    "scan-encoded-command": Code("error", "Base64 text is a shell command.", _UNTRUST),
    "scan-exfiltration": Code(
        "error", "A command sends keys, credentials or the environment to the network.", _UNTRUST
    ),
    "scan-hidden-element": Code("warning", "A style hides text of a rendered page.", _READ),
    "scan-hidden-order": Code(
        "error", "An HTML comment gives orders that are against the user or the rules.", _UNTRUST
    ),
    "scan-hidden-text": Code(
        "error",
        "Tag characters, variation selectors or zero-width characters carry hidden text.",
        _UNTRUST,
    ),
    "scan-image-beacon": Code(
        "error", "The address of an image has a place for data to be filled in.", _UNTRUST
    ),
    "scan-image-query": Code("warning", "The address of an image carries a query.", _READ),
    "scan-link-host": Code("warning", "A link shows one host and leads to another.", _READ),
    "scan-name-lookalike": Code(
        "error", "A name mixes letters of two alphabets that look alike.", _UNTRUST
    ),
    "scan-override": Code(
        "error", "The text tells the model to drop its instructions, or to be another.", _UNTRUST
    ),
    "scan-override-cited": Code(
        "warning",
        "Such an order is quoted, stands in a code block, or is forbidden to follow.",
        _READ,
    ),
    "scan-path": Code(
        "warning", "A path leads out of the folder, to secrets, or to another machine.", _READ
    ),
    "scan-role-marker": Code(
        "warning", "A line begins as if another speaker of the conversation began.", _READ
    ),
    "scan-safety": Code("warning", "The text asks to get around a safeguard.", _READ),
    "scan-script-link": Code("error", "A link runs a script.", _UNTRUST),
    "scan-secrets-sent": Code(
        "warning", "The text speaks of sending secrets to an address.", _READ
    ),
    "scan-template-token": Code(
        "error",
        "Tokens of a chat template, or the delimiters of our own notes, stand in the text.",
        _UNTRUST,
    ),
    "scan-template-token-cited": Code(
        "warning", "Such tokens stand in quotes or in a code block.", _READ
    ),
}
"""Code to what it stands for."""
