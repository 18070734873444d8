"""Reads ``MODEL@http://host:port/v1?key_env=VARIABLE&temperature=0``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from skillcue_adapters.language_models.backend import Service
from skillcue_hooks.errors import ConfigurationError

__all__ = ["Endpoint", "read_endpoint"]

_OPENAI = "https://api.openai.com/v1"
_FORM = 'The form is "openai:MODEL@http://host:port/v1?key_env=VARIABLE&temperature=0".'
_PATH = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Endpoint:
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
        """It is OpenAI's own."""
        return self.url == _OPENAI

    @property
    def service(self) -> Service:
        """Where requests go."""
        warm = () if self.temperature is None else (f"temperature={self.temperature:g}",)
        return Service(self.url + _PATH, self.key_env, warm)


def read_endpoint(spec: str) -> Endpoint:
    """The endpoint that `spec` describes; nothing is looked up or sent.

    Args:
        spec: What stands behind ``openai:``. It is not quoted in errors: it may hold a password.

    Raises:
        ConfigurationError: The spec is malformed, or a key is needed and not there.
    """
    if not spec.isprintable() or " " in spec:
        raise _malformed("holds a space or a character that nobody sees")
    place, _, more = spec.partition("?")
    model, url = re.match(r"(.*?)(?:@(https?://.*))?$", place).groups()  # type: ignore[union-attr]
    url = (url or _OPENAI).rstrip("/")
    if not model or re.match("https?://", model):
        raise _malformed("names no model")
    _check_model(model)
    _check_url(url)
    endpoint = Endpoint(model, url, **_options(more))
    if ("key_env" in more or endpoint.is_openai) and not os.environ.get(endpoint.key_env):
        variable = endpoint.service.variable
        raise ConfigurationError(
            f"{variable[0].upper()}{variable[1:]} is not set.",
            "Set it to the key of the endpoint, or name another: openai:MODEL?key_env=VARIABLE.",
        )
    return endpoint


def _check_model(model: str) -> None:
    """A name may hold ``@`` and ``:``, as in ``@cf/x/y`` and ``qwen3:4b``, but no address."""
    if "://" in model:
        raise _malformed("holds an address that is no http:// or https:// address")
    if re.search(r"@(localhost\b|[\w.-]+:\d+(/|$)|\[|$)", model):
        raise _malformed("holds an address without http:// before it")


def _check_url(url: str) -> None:
    if not url.isascii():
        raise _malformed("has an address with letters outside of ASCII")
    try:
        parts = urlsplit(url)
        port, host = parts.port, (parts.hostname or "").encode("idna")
    except ValueError:  # of a port, of brackets, or of a part of the name that is too long
        raise _malformed("has an address whose host or port cannot be") from None
    if "@" in parts.netloc:
        raise _malformed("holds a password; name an environment variable by key_env instead")
    if not host or port == 0:
        raise _malformed("has an address whose host or port cannot be")
    if "#" in url:
        raise _malformed("has an address with #")
    if parts.path.endswith(_PATH):
        raise _malformed(f"has an address that ends in {_PATH}, which is added by itself")


def _options(text: str) -> dict[str, Any]:
    if "@" in text:
        raise _malformed("has options before the address, or a password in it")
    options: dict[str, Any] = dict(parse_qsl(text, keep_blank_values=True))
    unknown = set(options) - {"key_env", "temperature"}
    if unknown:
        raise ConfigurationError(f"llm has the option {min(unknown)!r}, which is unknown.", _FORM)
    if not re.fullmatch(r"[A-Za-z_]\w*", options.get("key_env", "A"), re.ASCII):
        raise _malformed("has a key_env that names no environment variable")
    if "temperature" in options:
        try:
            options["temperature"] = float(options["temperature"])
        except ValueError:
            options["temperature"] = -1.0
        if not 0 <= options["temperature"] <= 2:
            raise ConfigurationError("The temperature in llm is no number from 0 to 2.", _FORM)
    return options


def _malformed(what: str) -> ConfigurationError:
    return ConfigurationError(f"llm, an openai: spec, {what}.", _FORM)
