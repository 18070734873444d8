"""Parameters of a url, behind its question mark: what libpq does not know is named."""

from __future__ import annotations

import re
from urllib.parse import unquote

from psycopg import pq

from skillcue_hooks.errors import ConfigurationError

__all__ = ["check_parameters"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def check_parameters(url: str) -> None:
    """Make sure that libpq knows the parameters of `url`, as far as they can be shown.

    What may be a part of a password, which was not percent-encoded, is passed over: the connection
    refuses it without saying what it was.

    Raises:
        ConfigurationError: It does not know one.
    """
    scheme, _, rest = url.partition("://")
    query = rest.partition("?")[2]
    if scheme not in ("postgres", "postgresql") or "@" in query:
        return
    options = {option.keyword.decode(): option for option in pq.Conninfo.get_defaults()}
    names = [unquote(part.partition("=")[0]) for part in query.split("&") if "=" in part]
    if any(options[name].dispchar for name in names if name in options):
        return
    known = {*options, "ssl"}  # which libpq takes for sslmode
    for name in names:
        if name not in known and _NAME.fullmatch(name):
            raise ConfigurationError(
                f"The url of the index has a parameter {name!r}, which libpq does not know.",
                "Use parameters of libpq, such as sslmode; in the address of a library tenant and"
                " schema as well.",
            )
