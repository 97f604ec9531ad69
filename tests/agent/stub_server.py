"""An OpenAI-compatible endpoint in a process of its own, for tests: `python -m tests.agent.stub_server NAME`.

NAME chooses what it answers (`ANSWERS`). Its first line is the base URL, with the port that the system gave it; it ends when its stdin closes, so it never
outlives the test that started it.

Not handled here: keys. Whoever asks is answered.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx

from labkit.agent.script import Message, ScriptedModel, calls, results, says

Handler = Callable[[httpx.Request], httpx.Response | None]  # None: hang up without a word


def deploys(messages: list[Message]) -> Message:
    """Asks for two tools at once, then for one, then ends."""
    got = len(results(messages))
    if got == 0:
        return calls(("look", {"at": "disk"}), ("look", {"at": "logs, \u00fcber alles"}))
    return calls(("clean", {})) if got == 2 else says(f"done after {got}: \U0001f680")


def headers(request: httpx.Request) -> httpx.Response:
    """A completion that tells what headers came."""
    return ScriptedModel(lambda messages: says(json.dumps(dict(request.headers))))(request)


def unauthorized(request: httpx.Request) -> httpx.Response:
    """Repeats the key, as some servers do."""
    key = request.headers["authorization"].removeprefix("Bearer ")
    return httpx.Response(401, json={"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}})


def half(request: httpx.Request) -> httpx.Response:
    """Promises a whole answer and sends half of it."""
    whole = ScriptedModel(deploys)(request)
    response = httpx.Response(200, content=whole.content[: len(whole.content) // 2])
    response.headers = whole.headers  # with the length of the whole
    return response


ANSWERS: dict[str, Handler] = {
    "deploys": ScriptedModel(deploys),
    "headers": headers,
    "unauthorized": unauthorized,
    "rate_limited": lambda request: httpx.Response(429, json={"error": {"message": "slow down"}}, headers={"Retry-After": "7"}),
    "server_error": lambda request: httpx.Response(500, text="<h1>it broke</h1>"),
    "garbage": lambda request: httpx.Response(200, content=b'{"choices": [', headers={"Content-Type": "application/json"}),
    "empty": lambda request: httpx.Response(200, json={"id": "1", "object": "chat.completion", "created": 0, "model": "any", "choices": []}),
    "repeats": lambda request: httpx.Response(400, json={"error": {"message": request.content.decode()}}),
    "breaks_and_repeats": lambda request: httpx.Response(500, content=request.content),
    "too_deep": lambda request: httpx.Response(200, content=b"[" * 100_000, headers={"Content-Type": "application/json"}),
    "a_page": lambda request: httpx.Response(200, html="<h1>Welcome</h1>"),
    "half": half,
    "hangs_up": lambda request: None,
    "by_model": lambda request: ANSWERS[json.loads(request.content)["model"]](request),  # all of them in one process
}


def serving(handler: Handler) -> type[BaseHTTPRequestHandler]:
    """Answers each POST with what `handler` answers."""

    class Serving(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = handler(httpx.Request("POST", f"http://stub{self.path}", headers=list(self.headers.items()), content=body))
            self.close_connection = True
            if answer is None:
                return
            self.send_response_only(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *args: object) -> None:
            return None

    return Serving


def main(name: str) -> None:
    """Serve until stdin closes."""
    with ThreadingHTTPServer(("127.0.0.1", 0), serving(ANSWERS[name])) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ANSWERS:
        main(sys.argv[1])
    else:
        sys.exit(f"usage: python -m tests.agent.stub_server NAME, one of {', '.join(ANSWERS)}")
