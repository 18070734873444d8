"""Archives over https, from a real server with a certificate of its own."""

from __future__ import annotations

import hashlib
import io
import shlex
import shutil
import ssl
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from support.remote import skill_text

from skillcue import SkillCue
from skillcue.remote import ArchiveSource, FetchLimits

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate")


def packed() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("alpha/SKILL.md"), skill_text("alpha"))
    return file.getvalue()


ARCHIVE = packed()
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


class Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/moved.zip":
            self.answer(302, b"", Location="/good.zip")
        elif self.path == "/away.zip":
            self.answer(302, b"", Location=f"http://127.0.0.1:{self.server.server_port}/good.zip")
        elif self.path == "/file.zip":
            self.answer(302, b"", Location="file:///etc/passwd")
        elif self.path == "/large.zip":
            self.answer(200, b"0" * 2_000_000)
        elif self.path == "/slow.zip":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.1)
        elif self.path == "/good.zip":
            self.answer(200, ARCHIVE)
        else:
            self.answer(404, b"")

    def answer(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_arguments: object) -> None:
        """A client that leaves early is what some tests are about."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of the server; its certificate is trusted by this process."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        shlex.split(
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem "
            "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        ),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    Handler.asked = []
    running = Server(("127.0.0.1", 0), Handler)
    running.socket = context.wrap_socket(running.socket, server_side=True)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    yield f"https://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


@pytest.mark.parametrize("name", ["good.zip", "moved.zip"])
def test_an_archive_is_fetched_once_and_verified(server, tmp_path, name):
    spec = f"{server}/{name}#sha256={DIGEST}"
    for _ in range(2):
        cue = SkillCue(spec, cache=tmp_path / "cache", recheck="always")
        assert [s.name for s in cue.list()] == ["alpha"] and cue.diagnostics == ()
        assert cue.list()[0].trust == "untrusted"
    assert Handler.asked.count("/good.zip") == 1


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("good.zip", "source-refused", f"Its sha256 is {DIGEST}"),
        ("away.zip", "source-refused", "away from https"),
        ("file.zip", "source-unreachable", "The server says 302"),
        ("large.zip", "source-refused", "limit download_bytes"),
        ("slow.zip", "source-unreachable", "took more than 1 seconds"),
        ("missing.zip", "source-unreachable", "The server says 404"),
    ],
)
def test_what_goes_wrong_is_said(server, tmp_path, name, code, message):
    limits = FetchLimits(download_bytes=1_000_000, seconds=1)
    source = ArchiveSource(f"{server}/{name}", "0" * 64, cache=tmp_path, fetch_limits=limits)
    cue = SkillCue(source)
    assert [d.code for d in cue.diagnostics] == [code]
    assert message in cue.diagnostics[0].message
    assert [p for p in (tmp_path / "sources").rglob("*") if p.is_file()] == []


def test_a_certificate_that_nobody_knows_is_not_trusted(server, monkeypatch, tmp_path):
    monkeypatch.delenv("SSL_CERT_FILE")
    cue = SkillCue(f"{server}/good.zip#sha256={DIGEST}")
    assert [d.code for d in cue.diagnostics] == ["source-unreachable"]
    assert "certificate" in cue.diagnostics[0].message
