"""What a failing model means and what to do about it, against real servers of this machine."""

from __future__ import annotations

import errno
import socket
import ssl
import subprocess
import threading
import traceback
from contextlib import contextmanager

import pytest
from support.asking_mode import openai_server

from skillcue import SkillCue
from skillcue_adapters.augment.by_model import NoAnswer, augment_by_model
from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage, ToolSpec
from skillcue_hooks.testing import ScriptedLanguageModel, make_skill

ONCE = CallLimits(tries=1)
SECRET = "sk-SECRET"
SEARCH = ToolSpec("search", "Finds skills.", {"type": "object", "properties": {}})


def failure(llm, *, limits=ONCE, timeout_s=20.0, **more):
    """(what the error says, its cure), after a look for what it must not say."""
    model = open_language_model(llm, limits=limits)
    with pytest.raises(LanguageModelError) as caught:
        model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=timeout_s, **more)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert len(str(caught.value)) < 300
    return caught.value.message, caught.value.cure


def spec(server, options=""):
    return f"openai:tiny@{server.url}{options}"


@contextmanager
def raw_server(talk):
    """A server that does `talk(connection)` with whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:  # closed
                    return
                with connection:
                    talk(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("status", "cause", "cure"),
    [
        (301, "a redirection, which is not followed", "Give the final address in llm="),
        (302, "a redirection", "final address in llm="),
        (307, "a redirection", "final address in llm="),
        (308, "a redirection", "final address in llm="),
        (400, "the service refuses the request", "Does the model take max_tokens=9, and is its"),
        (402, "the quota is used up", "raise the quota"),
        (404, "the address or the model is not known", "Is 'tiny' a model there? The path asked"),
        (405, "the address or the model is not known", "/v1/chat/completions"),
        (408, "gave up waiting", "its own time limit"),
        (413, "the request is too large", "Raise its limit"),
        (422, "the service refuses the request", "is its context large enough?"),
        (429, "too many requests, or the quota", "lower CallLimits(concurrency=4)"),
        (500, "the service has trouble", "log or status page"),
        (503, "the service has trouble", "starting, overloaded or broken"),
        (504, "gave up waiting", "a faster model"),
        (418, "it raised HTTPError, status 418", "Call the model without skillcue"),
    ],
)
def test_each_status_has_a_cause_and_a_cure(status, cause, cure):
    body = {"error": {"message": f"Incorrect API key provided: {SECRET}"}}
    headers = {"Location": f"http://user:{SECRET}@127.0.0.1/"}
    with openai_server((status, headers, body)) as server:
        said, to_do = failure(spec(server))
    assert said.startswith("The model tiny gave no answer: ")
    assert cause in said and f"HTTPError, status {status}" in said
    assert cure in to_do


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_variable_that_is_read(monkeypatch, status):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with openai_server((status, {}, {})) as server:
        said, unset = failure(spec(server))
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("MY_KEY", SECRET)
        monkeypatch.setenv("gsk_looks_like_a_key", SECRET)
        wrong = failure(spec(server))[1]
        other = failure(spec(server, "?key_env=MY_KEY"))[1]
        hidden = failure(spec(server, "?key_env=gsk_looks_like_a_key"))[1]
    assert "the key is missing or wrong" in said
    assert unset == "Set the environment variable OPENAI_API_KEY to the key; it is not set."
    assert wrong.startswith("Correct the environment variable OPENAI_API_KEY")
    assert other.startswith("Correct the environment variable MY_KEY")
    assert hidden.startswith("Correct the environment variable that key_env names")


def test_an_address_without_v1_is_asked_about():
    with openai_server((404, {}, {})) as server:
        bare = server.url.removesuffix("/v1")
        assert failure(f"openai:tiny@{bare}")[1] == (
            "The path asked for is /chat/completions: does the address have to end in /v1?"
        )


def test_a_refused_request_names_what_it_holds():
    with openai_server((400, {}, {})) as server:
        cure = failure(spec(server, "?temperature=0"), tools=[SEARCH])[1]
    assert "Does the model take tools, temperature=0, max_tokens=9, and" in cure


def test_nothing_listens():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    said, cure = failure(f"openai:tiny@http://127.0.0.1:{port}/v1")
    assert f"nothing listens at 127.0.0.1:{port} (ConnectionRefusedError)" in said
    assert cure == "Start the service, or correct the address in llm=."


def test_a_name_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    said, cure = failure("openai:tiny@https://no-such-host.invalid/v1")
    assert "the name of no-such-host.invalid:443 cannot be resolved (gaierror)" in said
    assert "spelt right in llm=" in cure


def test_a_connection_that_breaks_off():
    with raw_server(lambda connection: connection.recv(10)) as port:
        said, cure = failure(f"openai:tiny@http://127.0.0.1:{port}/v1")
    assert "the service broke off the connection" in said
    assert "http at this address, or https" in cure


@pytest.fixture
def certificate(tmp_path):
    """A key and a certificate that no authority signed."""
    made = tmp_path / "both.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    out = ["-keyout", str(tmp_path / "key.pem"), "-out", str(made)]
    try:
        subprocess.run([*command.split(), *out], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    made.write_text(made.read_text() + (tmp_path / "key.pem").read_text())
    return made


def test_a_certificate_that_nobody_trusts(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def talk(connection):
        try:
            context.wrap_socket(connection, server_side=True).close()
        except (OSError, ValueError):  # whoever asked hung up
            pass

    with raw_server(talk) as port:
        said, cure = failure(f"openai:tiny@https://localhost:{port}/v1")
    assert "the certificate of the service is not trusted (SSLCertVerificationError)" in said
    assert "SSL_CERT_FILE" in cure


def test_https_where_there_is_none():
    with raw_server(lambda connection: connection.sendall(b"HTTP/1.0 400 No\r\n\r\n")) as port:
        said, cure = failure(f"openai:tiny@https://127.0.0.1:{port}/v1")
    assert "TLS does not come about" in said
    assert "http://" in cure


def test_too_late_names_the_limit_and_where_it_is():
    release = threading.Event()
    with raw_server(lambda connection: release.wait(30)) as port:
        llm = f"openai:tiny@http://127.0.0.1:{port}/v1"
        of_calls = failure(llm, limits=CallLimits(tries=1, timeout_s=0.2))
        of_the_mode = failure(llm, timeout_s=0.3)
        release.set()
    assert "no answer in time, 0.2 s (TimeoutError)" in of_calls[0]
    assert "CallLimits(timeout_s=0.2)" in of_calls[1]
    assert "no answer in time, 0.3 s (TimeoutError)" in of_the_mode[0]
    assert "the time limit of the mode" in of_the_mode[1]


@pytest.mark.parametrize("limits", [ONCE, CallLimits(tries=2, timeout_s=5.0, backoff_s=0.001)])
def test_a_timeout_that_is_raised_with_time_left_is_no_matter_of_a_limit(limits):
    said, cure = failure(ScriptedLanguageModel([TimeoutError(SECRET)] * 2), limits=limits)
    assert "gave no answer: it raised TimeoutError." in said
    assert "limit" not in cure
    lost = OSError(errno.ETIMEDOUT, SECRET)
    assert "is out of reach (TimeoutError)" in failure(ScriptedLanguageModel([lost]))[0]


def test_seconds_are_rounded():
    release = threading.Event()
    slow = ScriptedLanguageModel([lambda _messages: release.wait(30) and "late"])
    said, _ = failure(slow, timeout_s=0.20004)
    release.set()
    assert "no answer in time, 0.2 s (TimeoutError)" in said


class StatusError(Exception):
    def __init__(self, status_code):
        super().__init__(SECRET)
        self.status_code = status_code


def error_named(name, *, behind=None):
    error = type(name, (Exception,), {})(SECRET)
    error.__cause__ = behind
    return error


@pytest.mark.parametrize(
    ("error", "cause", "cure"),
    [
        (StatusError(401), "the key is missing or wrong", "the key of the model object"),
        (StatusError(404), "not known there", "Is 'ScriptedLanguageModel' a model there"),
        (StatusError(302), "a redirection", "the final address of the model object"),
        (error_named("AuthenticationError"), "the key is missing", "the key of the model object"),
        (error_named("PermissionDeniedError"), "the key is missing", "what it may use"),
        (error_named("RateLimitError"), "too many requests", "CallLimits(concurrency=4)"),
        (error_named("BadRequestError"), "refuses the request", "max_tokens=9"),
        (error_named("OverloadedError"), "has trouble", "overloaded"),
        (error_named("APITimeoutError"), "its client gave up", "timeout of the model object"),
        (error_named("APIConnectionError"), "is out of reach", "of the model object"),
        (error_named("RemoteProtocolError"), "broke off", "https"),
        (OSError(113, SECRET), "is out of reach", "network"),
        (
            error_named("APIConnectionError", behind=ConnectionRefusedError(SECRET)),
            "nothing listens at the address of the model object (APIConnectionError)",
            "correct the address of the model object",
        ),
        (
            error_named("APIConnectionError", behind=error_named("A", behind=ssl.SSLError(SECRET))),
            "TLS does not come about",
            "https",
        ),
        (TypeError(SECRET), "it raised TypeError", "Call the model without skillcue"),
        (ValueError(SECRET), "it raised ValueError", "Call the model without skillcue"),
        (FileNotFoundError(SECRET), "it raised FileNotFoundError", "without skillcue"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_objects_of_frameworks_raise(error, cause, cure):
    said, to_do = failure(ScriptedLanguageModel([error]))
    assert cause in said
    assert cure in to_do


def test_an_error_whose_properties_raise():
    class Broken(Exception):
        @property
        def response(self):
            raise RuntimeError("not set")

    said, _ = failure(ScriptedLanguageModel([Broken(SECRET)]))
    assert "it raised Broken." in said


def test_a_chain_of_errors_that_closes_is_walked_once():
    first, second = KeyError(SECRET), ValueError(SECRET)
    first.__cause__, second.__cause__ = second, first
    assert "it raised KeyError." in failure(ScriptedLanguageModel([first]))[0]


@pytest.mark.parametrize(
    ("returned", "says"),
    [(None, "None"), ({"text": "no"}, "a dict"), (b"no", "a bytes")],
    ids=["None", "dict", "bytes"],
)
def test_a_function_that_returns_no_text(returned, says):
    def ask_company(system, prompt):
        return returned

    said, cure = failure(ask_company)
    assert said == f"The model ask_company gave no answer: it returned {says}, not a text."
    assert "returns a text" in cure


def test_a_function_that_returns_a_coroutine():
    async def inner():
        return "x"

    assert "it returned a coroutine" in failure(lambda system, prompt: inner())[0]


# Where users read it.


@pytest.mark.parametrize("mode", ["expand", "refine"])
def test_a_mode_says_what_to_do(example_skills, monkeypatch, mode):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with openai_server((401, {}, {})) as server:
        model = open_language_model(spec(server), limits=ONCE)
        with SkillCue(example_skills, mode=mode, llm=model, cache=False) as cue:
            degraded = cue.lookup("fill in the visa form").degraded
    assert "the key is missing or wrong" in degraded
    assert "Set the environment variable OPENAI_API_KEY to the key; it is not set" in degraded


def test_augmenting_says_what_to_do():
    skill = make_skill("pdf", "Fills in forms.")
    model = open_language_model(ScriptedLanguageModel([StatusError(401)] * 9))
    made = augment_by_model(skill, model)
    assert isinstance(made, NoAnswer)
    assert "Correct the key of the model object" in made.reason
