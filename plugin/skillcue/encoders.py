"""Encoders of one `SkillCue`: each spec is opened once and shared by all modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillcue.registry import Factory
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.protocols import Encoder

__all__ = ["DEFAULT_ENCODER", "EncoderPool"]

DEFAULT_ENCODER = "minilm"


class EncoderPool:
    """Opens encoders; safe to share between threads.

    Args:
        factories: Scheme to factory, as plugins register them.
        default: What `open` gives for None: a spec, or an object that is an encoder.

    Raises:
        ConfigurationError: `default` is not the built-in one and cannot be opened. The built-in
            one is opened when it is first needed, since that imports numpy.
        MissingExtraError: It needs a package that is not installed.
    """

    def __init__(self, factories: Mapping[str, Factory], default: Any = DEFAULT_ENCODER) -> None:
        self._factories = factories
        self._default = default
        self._lock = ForkSafeLock()
        self._opened: dict[Any, tuple[Any, Encoder]] = {}
        if default != DEFAULT_ENCODER:
            self.open()

    def open(self, spec: Any = None) -> Encoder:
        """The encoder that `spec` names, or the default.

        Raises:
            ConfigurationError: There is no such encoder, or its model is not on disk.
            MissingExtraError: It needs a package that is not installed.
            PluginError: A plugin's factory cannot be imported or gives no encoder.
        """
        from skillcue_adapters.encoders import open_encoder  # costs numpy only where used

        wanted = self._default if spec is None else spec
        key = wanted if isinstance(wanted, str) else id(wanted)
        with self._lock:
            if key not in self._opened:
                # The object is kept beside its encoder: its id must not be given away again.
                self._opened[key] = (wanted, open_encoder(wanted, self._factories))
            return self._opened[key][1]
