"""A server that speaks the Anthropic Messages API and follows simple rules, for real clients."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["AnthropicServer", "anthropic_server"]

_OFFER = re.compile(r'skill_load\(name="([^"]+)"\)')


class AnthropicServer:
    """Keeps every request.

    It calls ``skill_load`` for the first skill of advice in the newest message, and answers a tool
    result, and everything else, with a text.
    """

    def __init__(self, url: str, requests: list[dict[str, Any]]) -> None:
        self.url = url
        self.requests = requests


def _block(request: dict[str, Any]) -> dict[str, Any]:
    """The one content block of the answer."""
    content = request["messages"][-1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if any(part["type"] == "tool_result" for part in parts):
        return {"type": "text", "text": "I did what the skill says."}
    text = "\n".join(part.get("text", "") for part in parts)
    offer = _OFFER.search(text.partition("<skill_advice>")[2])
    if offer and any(tool["name"] == "skill_load" for tool in request.get("tools", ())):
        call_id = f"toolu_{len(request['messages'])}"
        return {
            "type": "tool_use",
            "id": call_id,
            "name": "skill_load",
            "input": {"name": offer[1]},
        }
    return {"type": "text", "text": "I need no skill."}


def _message(content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _events(block: dict[str, Any], stop: str) -> Iterator[dict[str, Any]]:
    """The answer as a stream, its content in two parts."""
    yield {"type": "message_start", "message": _message([], None)}
    if block["type"] == "text":
        whole, kind, field = block["text"], "text_delta", "text"
        start = {"type": "text", "text": ""}
    else:
        whole, kind, field = json.dumps(block["input"]), "input_json_delta", "partial_json"
        start = {**block, "input": {}}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    for part in (whole[:9], whole[9:]):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: part}}
    yield {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


@contextmanager
def anthropic_server() -> Iterator[AnthropicServer]:
    """The server, on a free port of this machine."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            block = _block(request)
            stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
            if request.get("stream"):
                kind = "text/event-stream"
                body = "".join(
                    f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                    for event in _events(block, stop)
                )
            else:
                kind, body = "application/json", json.dumps(_message([block], stop))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield AnthropicServer(f"http://127.0.0.1:{server.server_address[1]}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
