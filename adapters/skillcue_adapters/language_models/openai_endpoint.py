"""Any endpoint that speaks OpenAI's chat completions, by ``openai:MODEL@http://host:port/v1``."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from skillcue_adapters.language_models.openai_format import (
    completion_of,
    message_field,
    tool_field,
)
from skillcue_adapters.language_models.openai_spec import read_endpoint
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec

__all__ = ["OpenAiBackend"]

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LARGEST_ANSWER = 8_000_000
"""A longer response is no chat completion, bytes."""


class OpenAiBackend:
    """Asks an endpoint over HTTP, with the standard library alone.

    The key is read from the environment for each call and goes to the endpoint and nowhere else:
    a redirection is not followed. Tools go through the ``tools`` field.

    Args:
        spec: What stands behind ``openai:``.

    Raises:
        ConfigurationError: The spec is malformed, or a key is needed and not there.
    """

    calls_tools = True

    def __init__(self, spec: str) -> None:
        self._endpoint = read_endpoint(spec)
        self.service = self._endpoint.service
        self.name = self._endpoint.model
        place = (self._endpoint.url, self._endpoint.model, str(self._endpoint.temperature))
        self.fingerprint = fingerprint("openai", *place)
        host = urlsplit(self._endpoint.url).hostname
        proxies = [urllib.request.ProxyHandler({})] if host in _LOOPBACK else []
        self._opener = urllib.request.build_opener(_NoRedirect, *proxies)

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """What the endpoint answers.

        Raises:
            OSError: It is out of reach, too slow, or answers with a status of failure.
            LanguageModelError: It answers something else than a chat completion, or the key cannot
                be sent.
        """
        endpoint = self._endpoint
        # OpenAI's own newer models refuse the old name; the servers that copied it know no other.
        longest = "max_completion_tokens" if endpoint.is_openai else "max_tokens"
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [message_field(message) for message in messages],
            longest: max_tokens,
        }
        if tools:
            body["tools"] = [tool_field(tool) for tool in tools]
        if endpoint.temperature is not None:
            body["temperature"] = endpoint.temperature
        raw = self._sent(json.dumps(body).encode(), timeout_s)
        try:
            return completion_of(json.loads(raw))
        except (ValueError, RecursionError):
            what, cure = _unexpected(raw, self.service.url)
        # Outside of the handler: the error in it holds what the service said.
        raise LanguageModelError(
            f"The model {self.name} gave no answer: {self.service.url} answers with {what}.", cure
        )

    def _sent(self, body: bytes, timeout_s: float) -> bytes:
        request = urllib.request.Request(self.service.url, body, self._headers())
        try:
            with self._opener.open(request, timeout=timeout_s) as response:
                raw: bytes = response.read(_LARGEST_ANSWER)
                return raw
        except urllib.error.HTTPError as error:
            error.close()  # it is a response as well, with a connection of its own
            raise

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "skillcue"}
        key = os.environ.get(self.service.key_env, "").strip()
        if not (key.isascii() and key.isprintable()):  # else the error that refuses it quotes it
            raise LanguageModelError(
                f"The model {self.name} gave no answer: {self.service.variable} holds a character "
                "that is in no key.",
                "Set it to the key alone.",
            )
        return {**headers, "Authorization": f"Bearer {key}"} if key else headers


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirection is a failure: the key must not go elsewhere."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def _unexpected(raw: bytes, url: str) -> tuple[str, str]:
    """(what a body is that is no chat completion, what to do about it); nothing of its text."""
    is_api = "Does the address speak chat completions of OpenAI? Its log may say more."
    if raw.lstrip().startswith(b"<"):
        page = "Is the address an API, or does a login or a proxy stand before it?"
        return "a page of HTML", page if "/v1/" in url else "Does the address have to end in /v1?"
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return "something else than JSON" if raw.strip() else "nothing", is_api
    if isinstance(found, Mapping) and found.get("error"):
        return "JSON that reports an error", "The log of the service says which."
    has_choices = isinstance(found, Mapping) and found.get("choices")
    return ("JSON that is no chat completion" if has_choices else "JSON without choices"), is_api
