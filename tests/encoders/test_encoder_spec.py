"""One spec string, one registry, clear errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillcue_adapters import register
from skillcue_adapters.encoders import open_encoder
from skillcue_hooks import Encoder
from skillcue_hooks.errors import ConfigurationError, PluginError
from skillcue_hooks.manager import build_manager
from skillcue_hooks.testing import FakeEncoder


def test_the_built_in_encoders_come_through_the_public_door():
    manager = build_manager({"builtin": register})
    found = {}
    manager.hook.skillcue_register_encoders(register=found.__setitem__)
    assert sorted(found) == ["minilm", "onnx", "st", "static"]
    assert all(isinstance(target, str) for target in found.values())


@pytest.mark.parametrize("spec", ["minilm", "static"])
def test_embedded_encoders_fill_the_role(spec, registry):
    encoder = open_encoder(spec, registry)
    assert isinstance(encoder, Encoder)
    assert len(encoder.fingerprint) == 64


def test_a_plugin_adds_an_encoder_by_scheme(registry):
    def build(argument):
        return FakeEncoder(int(argument))

    encoder = open_encoder("fake:7", {**registry, "fake": build})
    assert encoder.dim == 7


def test_what_stands_behind_the_first_colon_is_the_argument():
    seen = []

    def build(argument):
        seen.append(argument)
        return FakeEncoder()

    for spec in ("x", "x:", "x:C:\\models\\a", "x:org/name"):
        open_encoder(spec, {"x": build})
    assert seen == ["", "", "C:\\models\\a", "org/name"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("minilmm", "Did you mean 'minilm'"),
        ("BAAI/bge-small-en-v1.5", "'st:BAAI/bge-small-en-v1.5'"),
        ("/models/mine", "'onnx:/models/mine'"),
        ("openai", "Encoders: minilm, onnx, st, static"),
        ("", "skillcue_register_encoders"),
        ("minilm:large", "takes no argument"),
        ("static:large", "takes no argument"),
        ("onnx", "onnx:/path"),
        ("onnx:", "onnx:/path"),
    ],
)
def test_a_wrong_spec_says_what_is_right(spec, says, registry):
    with pytest.raises(ConfigurationError) as caught:
        open_encoder(spec, registry)
    assert says in str(caught.value)


def test_a_missing_path_is_named(registry, tmp_path):
    with pytest.raises(ConfigurationError, match=r"There is no model at .*nowhere"):
        open_encoder(f"onnx:{tmp_path / 'nowhere'}", registry)


@pytest.mark.parametrize("target", ["no_such_module:build", "skillcue_adapters.encoders:nothing"])
def test_a_target_that_cannot_be_imported_is_the_plugins_mistake(target):
    with pytest.raises(PluginError, match="'mine' is registered as"):
        open_encoder("mine", {"mine": target})


def test_a_factory_that_gives_no_encoder_is_the_plugins_mistake():
    with pytest.raises(PluginError, match="returned a dict"):
        open_encoder("mine", {"mine": lambda argument: {}})


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_and_registering_loads_nothing_heavy():
    code = (
        "import sys, skillcue_adapters.encoders, skillcue_adapters.register as r\n"
        "r.skillcue_register_encoders(register=lambda *a: None)\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'torch', 'huggingface_hub'}"
        " & set(sys.modules)))"
    )
    assert run(code) == "[]"


def test_opening_and_naming_an_encoder_loads_no_model():
    code = (
        "import sys, skillcue_adapters.register as r\n"
        "from skillcue_adapters.encoders import open_encoder\n"
        "found = {}\n"
        "r.skillcue_register_encoders(register=found.__setitem__)\n"
        "for spec in ('minilm', 'static'):\n"
        "    encoder = open_encoder(spec, found)\n"
        "    encoder.fingerprint, encoder.dim\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'torch', 'huggingface_hub'}"
        " & set(sys.modules)))"
    )
    assert run(code) == "[]"


def test_without_sentence_transformers_the_error_names_the_extra():
    code = (
        "import sys\n"
        "sys.modules['sentence_transformers'] = None\n"
        "from skillcue_adapters.encoders import open_encoder\n"
        "from skillcue_hooks.errors import MissingExtraError\n"
        "try:\n"
        "    open_encoder('st:some/model', {'st': 'skillcue_adapters.encoders.st:build'})\n"
        "except MissingExtraError as error:\n"
        "    print(error)"
    )
    assert 'pip install "skillcue[neural]"' in run(code)
