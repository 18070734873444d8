"""One file over https, bounded in bytes and time."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

from skillcue.remote.failures import RefusedError, UnreachableError
from skillcue.remote.limits import FetchLimits

__all__ = ["download"]

_CHUNK = 1 << 16


def download(url: str, file: BinaryIO, limits: FetchLimits) -> None:
    """Write what `url` gives into `file`.

    Args:
        url: ``https://``; it is only ever redirected to such an address.
        file: Takes the content.
        limits: Bounds on bytes and time.

    Raises:
        UnreachableError: There is no answer, or not in time.
        RefusedError: It is too large, or leads away from https.
    """
    end = time.monotonic() + limits.seconds
    opener = urllib.request.build_opener(_SecureOnly)
    request = urllib.request.Request(url, headers={"User-Agent": "skillcue"})
    try:
        with opener.open(request, timeout=limits.seconds) as answer:
            size = 0
            while part := answer.read1(_CHUNK):
                size += len(part)
                if size > limits.download_bytes:
                    raise RefusedError(
                        f"It is larger than {limits.download_bytes} bytes (limit download_bytes).",
                        "Raise FetchLimits(download_bytes=...).",
                    )
                if time.monotonic() > end:
                    raise UnreachableError(
                        f"It took more than {limits.seconds:g} seconds.",
                        "Look at the network, or raise FetchLimits(seconds=...).",
                    )
                file.write(part)
    except urllib.error.HTTPError as error:
        raise UnreachableError(f"The server says {error.code}.", "Look at the address.") from error
    except urllib.error.URLError as error:
        raise UnreachableError(
            f"No answer: {error.reason}.", "Look at the address and the network."
        ) from error


class _SecureOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme != "https":
            raise RefusedError("It leads away from https.", "Name the final address.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
