"""One attempt over a real socket: what goes out, what counts as received, and that time, redirects and names give nothing away."""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from labkit.clock import VirtualClock
from labkit.errors import CallTimeout, TransientError, UsageError
from labkit.webhook import Answer, PinnedPost, Sender, through, verify
from labkit.webhook.send import sign
from tests.webhook.helpers import CERTIFICATE, LOOPBACK, Receiver, babbles, closes, status

BODY = '{"id":"t1","result":"größer"}'.encode()


def sender(secret: str = "", **options: Any) -> Sender:
    return Sender(PinnedPost(**{"allow": LOOPBACK, **options}), secret=secret)


def named(*addresses: str) -> Callable[[str], list[str]]:
    return lambda name: list(addresses)


def test_what_goes_out() -> None:
    """The bytes as they are, under an id and a signature that a receiver can check; twice the same to the last byte."""
    with Receiver() as receiver:
        for _ in range(2):
            assert Answer(200) == sender("s3cret")("d1", f"{receiver.url}?a=1", BODY)
    first, second = receiver.got
    path, headers, body = first
    expected = hmac.new(b"s3cret", b"d1\n" + BODY, hashlib.sha256).hexdigest()
    assert first == second
    assert ("/hook?a=1", BODY, f"127.0.0.1:{receiver.port}") == (path, body, headers["Host"])
    assert ("d1", f"sha256={expected}", "application/json") == (headers["Labkit-Delivery"], headers["Labkit-Signature"], headers["Content-Type"])


def test_without_a_secret() -> None:
    """Nothing is signed without a secret; the environment's is taken, and shown nowhere."""
    with Receiver() as receiver:
        plain, signing = (Sender(PinnedPost(allow=LOOPBACK), environ=e) for e in ({}, {"LABKIT_WEBHOOK_SECRET": "from outside\n"}))
        for send in (plain, signing):
            send("d1", receiver.url, BODY)
    signatures = [headers.get("Labkit-Signature") for _, headers, _ in receiver.got]
    assert [None, sign("from outside", "d1", BODY)] == signatures
    assert "outside" not in repr(signing)


def test_verify() -> None:
    """A signature is good for its secret, id and body alone, and no part of one can pass as part of another."""
    good = sign("s", "d1", BODY)
    assert verify("s", "d1", BODY, good)
    wrong = [("t", "d1", BODY, good), ("s", "d2", BODY, good), ("s", "d1", BODY + b" ", good), ("s", "d1", BODY, good[:-1]), ("s", "d1", BODY, ""),
             ("s", "d1", BODY, "sha256=ü"), ("s", "d1", BODY, "\ud800"), ("", "d1", BODY, sign("", "d1", BODY)),
             ("s", "d1\n{", b"}", sign("s", "d1", b"{\n}"))]  # fmt: skip
    assert [] == [case for case in wrong if verify(*case)]
    with pytest.raises(UsageError):
        sign("s", "d1\nx", BODY)


@pytest.mark.parametrize(
    ("code", "received", "final"),
    [(200, True, True), (201, True, True), (204, True, True), (299, True, True), (300, False, True), (301, False, True), (302, False, True),
     (303, False, True), (304, False, True), (307, False, True), (308, False, True), (400, False, False), (401, False, False), (404, False, False),
     (410, False, True), (429, False, False), (500, False, False), (503, False, False), (599, False, False)],
)  # fmt: skip
def test_verdicts(code: int, received: bool, final: bool) -> None:
    """Only 2xx is received; a redirect and 410 are final, all else may get better."""
    answer = Answer(code)
    assert (received, final, True) == (answer.received, answer.final, str(code) in str(answer))


@pytest.mark.parametrize("code", [200, 204, 302, 404, 500])
def test_statuses_over_the_wire(code: int) -> None:
    """What the receiver answers is what is told, with its Retry-After."""
    with Receiver(status(code, Retry_After="7")) as receiver:
        assert Answer(code, "7") == sender()("d1", receiver.url, BODY)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(code: int) -> None:
    """Whoever is named by Location hears nothing, though it could be reached; a redirect is a failure."""
    with Receiver() as inner, Receiver(status(code, Location=inner.url)) as receiver:
        answer = sender()("d1", receiver.url, BODY)
    assert (1, [], False, True) == (len(receiver.got), inner.got, answer.received, answer.final)


def test_refused_before_anything_is_sent() -> None:
    """An address that is not public is not contacted unless its network is allowed, by number or by name."""
    with Receiver() as receiver:
        for url in (receiver.url, f"http://hook.example:{receiver.port}/", f"http://localhost:{receiver.port}/"):
            for found in ("127.0.0.1", "::1", "10.0.0.1", "::ffff:127.0.0.1"):
                with pytest.raises(UsageError, match="not public"):
                    sender(allow=(), resolve=named(found))("d1", url, BODY)
        assert [] == receiver.got
        assert Answer(200) == sender(resolve=named("127.0.0.1"))("d1", f"http://hook.example:{receiver.port}/", BODY)


def test_the_checked_address_is_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that changes its mind gains nothing: it is asked once, the connection goes where that led, and Host is the name."""
    asked: list[str] = []

    def changing(name: str) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    def no_lookup(*args: object, **options: object) -> None:
        raise AssertionError("a second lookup")

    with Receiver() as receiver:
        monkeypatch.setattr(socket, "getaddrinfo", no_lookup)
        assert Answer(200) == sender(resolve=changing)("d1", f"http://hook.example:{receiver.port}/", BODY)
    assert (["hook.example"], f"hook.example:{receiver.port}") == (asked, receiver.got[0][1]["Host"])


def test_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment, which would look up names by itself, is not used."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Receiver() as receiver:
        assert Answer(200) == sender()("d1", receiver.url, BODY)


def test_the_next_address_is_tried() -> None:
    """Where one of several addresses does not take the connection, the next one does."""
    with Receiver() as receiver:
        # nobody listens on the second loopback address
        assert Answer(200) == sender(resolve=named("127.0.0.2", "127.0.0.1"))("d1", f"http://hook.example:{receiver.port}/", BODY)
        with pytest.raises(TransientError, match="no answer"):
            sender(resolve=named("127.0.0.2", "127.0.0.3"))("d1", f"http://hook.example:{receiver.port}/", BODY)


def test_tls_verifies_the_name() -> None:
    """The certificate must be that of the name, wherever the name led; that of another name, or of nobody known, is refused."""
    known = ssl.create_default_context(cafile=str(CERTIFICATE))
    with Receiver(tls=True) as receiver:

        def send(host: str, context: ssl.SSLContext | None) -> Answer:
            return sender(resolve=named("127.0.0.1"), context=context)("d1", f"https://{host}:{receiver.port}/", BODY)

        assert Answer(200) == send("hook.example", known)
        for host, context in (("other.example", known), ("127.0.0.1", known), ("hook.example", None)):
            with pytest.raises(TransientError, match="CERTIFICATE_VERIFY_FAILED"):
                send(host, context)
    assert 1 == len(receiver.got)


class Dripping:
    """A receiver that sends one byte for each second of the sender's clock, for ever."""

    def __init__(self, clock: VirtualClock, before: bytes, byte: bytes) -> None:
        self.clock, self.before, self.byte = clock, before, byte

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(self.before)
        while True:
            self.clock.sleep(1.0)
            request.wfile.write(self.byte)


@pytest.mark.parametrize(
    ("before", "byte"),
    [(b"", b"H"), (b"HTTP/1.1 200 OK\r\nX: ", b"y"), (b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n", b"z"),
     (b"HTTP/1.1 200 OK\r\n\r\n", b"z"), (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nz\r\n"),
     (b"", b"HTTP/1.1 100 Continue\r\n\r\n")],
    ids=["status", "header", "body", "endless body", "chunks", "continue"],
)  # fmt: skip
def test_dripping_is_cut(before: bytes, byte: bytes, clock: VirtualClock) -> None:
    """Bytes that come in do not begin the limit anew: whatever drips, after ten seconds in all it is over."""
    with Receiver(Dripping(clock, before, byte)) as receiver, pytest.raises(CallTimeout, match="within 10 s"):
        sender(clock=clock)("d1", receiver.url, BODY)


def test_hanging_is_cut() -> None:
    """Who takes the request and says nothing is given up on; the request has arrived, which is what a retry must be recognised for."""
    with Receiver(lambda request: receiver.over.wait() and None) as receiver:  # type: ignore[func-returns-value]
        with pytest.raises(CallTimeout) as cut:
            sender(timeout=0.2)("d1", receiver.url, BODY)
        assert (False, 1) == (cut.value.definite, len(receiver.got))


def test_not_reading_is_cut() -> None:
    """Who accepts and reads nothing cannot hold up a large body either; nor can a handshake that never ends."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        with pytest.raises(CallTimeout):
            sender(timeout=0.2)("d1", f"http://127.0.0.1:{port}/", b"x" * 20_000_000)
        with pytest.raises(CallTimeout):
            sender(timeout=0.2)("d1", f"https://127.0.0.1:{port}/", BODY)


def test_no_time_left_after_the_lookup(clock: VirtualClock) -> None:
    """A lookup that took all the time leaves none for a connection."""

    def slow(name: str) -> list[str]:
        clock.sleep(11.0)
        return ["127.0.0.1"]

    with Receiver() as receiver, pytest.raises(CallTimeout):
        sender(clock=clock, resolve=slow)("d1", f"http://hook.example:{receiver.port}/", BODY)
    assert [] == receiver.got


def reset(request: BaseHTTPRequestHandler) -> None:
    """Hang up without a word and without a goodbye."""
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.connection.close()


@pytest.mark.parametrize("behave", [closes, babbles, reset], ids=["closes", "babbles", "resets"])
def test_no_answer(behave: Callable[[BaseHTTPRequestHandler], None]) -> None:
    """Hanging up and answering something else are no answers, and what was babbled is not repeated."""
    with Receiver(behave) as receiver, pytest.raises(TransientError) as error:
        sender()("d1", receiver.url, BODY)
    assert "mail.example" not in str(error.value)


def test_nobody_there() -> None:
    """A port on which nobody listens is an error that may pass."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(TransientError):
        sender()("d1", f"http://127.0.0.1:{port}/", BODY)


def test_a_large_answer_is_not_read(clock: VirtualClock) -> None:
    """Of an endless body some is read and the status counts."""

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            request.wfile.write(b"x" * 65_536)

    with Receiver(endless) as receiver:
        assert Answer(200) == sender()("d1", receiver.url, BODY)


@pytest.mark.parametrize("size", [b"-1", b"-ffffffffffffffffffff", b"7fffffffffffffff"])
def test_a_chunk_of_odd_size(size: bytes) -> None:
    """Whatever a receiver says of a chunk's size, no more than a little is read of it."""
    sent = [0]

    def lies(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\n" % size)
        while sent[0] < 60_000_000:
            request.wfile.write(b"x" * 65_536)
            sent[0] += 65_536

    with Receiver(lies) as receiver:
        with suppress(TransientError):  # it may count as an answer or not
            sender()("d1", receiver.url, BODY)
    assert sent[0] < 60_000_000


def test_a_body_of_known_length_is_not_waited_for() -> None:
    """When the body is there the answer is whole, though the receiver leaves the connection open."""

    def stays(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
        receiver.over.wait()

    with Receiver(stays) as receiver:
        assert Answer(200) == sender(timeout=5)("d1", receiver.url, BODY)


def test_through_another_client() -> None:
    """The same headers and bytes go through an `httpx` client, which follows no redirect either, whatever it is set to."""
    got: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        got.append(request)
        return httpx.Response(302, headers={"location": "http://inner/", "retry-after": "3"})

    client = httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True)
    assert Answer(302, "3") == Sender(through(client), secret="s")("d1", "http://hook.example/a", BODY)
    assert [(BODY, sign("s", "d1", BODY))] == [(r.content, r.headers["labkit-signature"]) for r in got]


def test_reprs() -> None:
    """Each object says in one line what it is."""
    assert "<PinnedPost 10 s, allowed: 127.0.0.0/8>" == repr(PinnedPost(allow=LOOPBACK))
    assert "<Sender without a signature over <PinnedPost 10 s, allowed: public addresses>>" == repr(Sender(secret=""))
