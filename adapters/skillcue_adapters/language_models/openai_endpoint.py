"""Any endpoint that speaks OpenAI's chat completions, by ``openai:MODEL@http://host:port/v1``."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import parse_qsl, urlsplit

from skillcue_adapters.language_models.openai_format import (
    completion_of,
    message_field,
    tool_field,
)
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec

__all__ = ["OpenAiBackend"]

_OPENAI = "https://api.openai.com/v1"
_FORM = 'The form is "openai:MODEL@http://host:port/v1?key_env=VARIABLE&temperature=0".'
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LARGEST_ANSWER = 8_000_000
"""A longer response is no chat completion, bytes."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """What a spec says.

    Attributes:
        model: Name of the model.
        url: Of the API, without a slash at its end.
        key_env: Environment variable that holds the key.
        temperature: Of the sampling; None leaves it to the server.
    """

    model: str
    url: str
    key_env: str = "OPENAI_API_KEY"
    temperature: float | None = None

    @property
    def is_openai(self) -> bool:
        return self.url == _OPENAI


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
        self._endpoint = _read(spec)
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
            ValueError: It answers something else than a chat completion.
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
        request = urllib.request.Request(
            f"{endpoint.url}/chat/completions", json.dumps(body).encode(), _headers(endpoint)
        )
        try:
            with self._opener.open(request, timeout=timeout_s) as response:
                return completion_of(json.loads(response.read(_LARGEST_ANSWER)))
        except urllib.error.HTTPError as error:
            error.close()  # it is a response as well, with a connection of its own
            raise


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


def _headers(endpoint: _Endpoint) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "User-Agent": "skillcue"}
    key = os.environ.get(endpoint.key_env, "")
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers


def _read(spec: str) -> _Endpoint:
    found = re.fullmatch(
        r"(?P<model>[^\s?]+?)(@(?P<url>https?://[^\s?]+))?(\?(?P<more>\S*))?", spec
    )
    if found is None:
        raise ConfigurationError(f"llm is 'openai:{spec}'.", _FORM)
    url = (found["url"] or _OPENAI).rstrip("/")
    parts = urlsplit(url)
    if not parts.hostname or "@" in parts.netloc or "://" in found["model"]:
        # not quoted: where a password stands, it would be shown
        raise ConfigurationError(
            "The endpoint in llm is no http address, or holds a password.", _FORM
        )
    endpoint = _Endpoint(found["model"], url, **_options(found["more"] or ""))
    named = "key_env" in (found["more"] or "")
    if (named or endpoint.is_openai) and not os.environ.get(endpoint.key_env):
        raise ConfigurationError(
            f"The environment variable {endpoint.key_env} is not set.",
            "Set it to the key of the endpoint, or name another: openai:MODEL?key_env=VARIABLE.",
        )
    return endpoint


def _options(text: str) -> dict[str, Any]:
    options: dict[str, Any] = dict(parse_qsl(text, keep_blank_values=True))
    unknown = set(options) - {"key_env", "temperature"}
    if unknown:
        raise ConfigurationError(f"llm has the option {min(unknown)!r}, which is unknown.", _FORM)
    if "temperature" in options:
        try:
            options["temperature"] = float(options["temperature"])
        except ValueError:
            options["temperature"] = -1.0
        if not 0 <= options["temperature"] <= 2:
            raise ConfigurationError("The temperature in llm is no number from 0 to 2.", _FORM)
    return options
