"""A mode that asks the language model, and a server that speaks OpenAI's format."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from skillcue_hooks import Library, Query, Ranking, RetrieverContext, hookimpl
from skillcue_hooks.language import ChatMessage

__all__ = ["AskingModes", "OpenAiServer", "openai_server"]

ASKED_ABOUT = "visa"
"""Only such a query is asked about: the gate is fitted with hundreds of others."""


class _Mode:
    def __init__(self, library: Library, context: RetrieverContext) -> None:
        self._inner = context.retriever("bm25")
        self._model = context.language_model
        self._mode = context.mode
        self.fingerprint = f"test:{context.mode}"
        self.generation = library.generation

    def search(self, query: Query) -> Ranking:
        ranking = replace(self._inner.search(query), mode=self._mode, cached=False)
        if ASKED_ABOUT not in query.text:
            return ranking
        assert self._model is not None
        asked = [ChatMessage("system", "Help."), ChatMessage("user", query.text)]
        found = self._model.complete(asked, max_tokens=50, timeout_s=20)
        return replace(ranking, cost=found.usage)


class AskingModes:
    """A plugin with a mode ``asks``: bm25, and one call of the model where the query says "visa"."""

    @hookimpl
    def skillcue_register_retrievers(self, register: Any) -> None:
        register("asks", _Mode)


class OpenAiServer:
    """What a running server was asked, and what it is to answer.

    An answer is a response body, or ``(status, headers, body)``; the last one is repeated.
    """

    def __init__(self, url: str, answers: list[Any]) -> None:
        self.url = url
        self.answers = answers
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []


@contextmanager
def openai_server(*answers: Any) -> Iterator[OpenAiServer]:
    """Serve on a free port of this machine."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                state.requests.append(body)
                state.keys.append(self.headers.get("Authorization"))
                state.paths.append(self.path)
                first = len(state.answers) > 1
                answer = state.answers.pop(0) if first else state.answers[0]
            status, headers, content = answer if isinstance(answer, tuple) else (200, {}, answer)
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = OpenAiServer(f"http://127.0.0.1:{server.server_port}/v1", list(answers))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
