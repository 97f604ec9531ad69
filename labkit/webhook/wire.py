"""One HTTP request to an address that was checked, within one time limit for all of it.

The connection goes to the addresses that the check let through; the name is only said, in the `Host` header and to TLS, which verifies the certificate
against it. Nothing of the environment (proxies, passwords) is used, and nothing is followed. The limit counts from the lookup to the last byte of
the answer and is not begun anew by bytes that come in: a receiver that drips is cut. Of the answer's body a little is read and nothing kept.

Not handled here: what to send and what an answer means (see `send`), and HTTP/2.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.clock import Clock, SystemClock
from labkit.errors import CallTimeout, TransientError
from labkit.webhook.address import Resolve, addresses_of, read_url, system_resolve
from labkit.webhook.public import Address, networks

TIMEOUT_SECONDS = 10.0
MOST_READ = 65_536  # bytes of a body
_AT_ONCE = 65_536  # bytes
_PIECE = 8_192  # bytes of a body that are read at once


@dataclass(frozen=True)
class Reply:
    """What came back: the status, and the header `Retry-After` as it was."""

    status: int
    retry_after: str | None = None


class Post(Protocol):
    """Sends a body to an address and returns what came back; raises whatever kept it from doing so."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply: ...


class PinnedPost:
    """A `Post` over sockets of its own. `allow` names networks that may be reached though they are not public: "127.0.0.0/8".

    `UsageError`: the address may not be reached, and was not. `CallTimeout`, `TransientError`: the receiver may have got it or not.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        timeout: float = TIMEOUT_SECONDS,
        resolve: Resolve = system_resolve,
        clock: Clock | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed, self._timeout, self._resolve = networks(allow), timeout, resolve
        self._clock: Clock = clock or SystemClock()
        self._context = context

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        left = self._time_left()
        target = read_url(url)
        found = addresses_of(target, self._resolve, self._allowed)
        try:
            with _connected(found, target.port, left) as plain:
                if target.scheme == "http":
                    return _exchange(plain, target.path, {"Host": target.authority, **headers}, body, left)
                context = self._context or ssl.create_default_context()
                plain.settimeout(left())
                with context.wrap_socket(plain, server_hostname=target.host) as sealed:
                    return _exchange(sealed, target.path, {"Host": target.authority, **headers}, body, left)
        except CallTimeout:
            raise
        except TimeoutError as error:
            raise self._late() from error
        except http.client.HTTPException as error:  # subtle: its text is the receiver's, so it is not repeated
            raise TransientError(f"the answer is not HTTP ({type(error).__name__})") from error
        except OSError as error:
            raise TransientError(f"no answer: {error}") from error

    def _time_left(self) -> Callable[[], float]:
        """What tells the seconds that are left, and raises when there are none."""
        until = self._clock.monotonic() + self._timeout

        def left() -> float:
            seconds = until - self._clock.monotonic()
            if seconds <= 0:
                raise self._late()
            return seconds

        return left

    def _late(self) -> CallTimeout:
        return CallTimeout(f"no whole answer within {self._timeout:g} s")

    def __repr__(self) -> str:
        return f"<PinnedPost {self._timeout:g} s, allowed: {', '.join(map(str, self._allowed)) or 'public addresses'}>"


def _connected(found: list[Address], port: int, left: Callable[[], float]) -> socket.socket:
    """A connection to the first of these addresses that takes it; each has its share of the time that is left."""
    for number, address in enumerate(found, 1):
        made = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
        try:
            made.settimeout(left() / (len(found) - number + 1))
            made.connect((str(address), port))
            return made
        except OSError:
            made.close()
            if number == len(found):
                raise
        except BaseException:
            made.close()
            raise
    raise TransientError("no address to connect to")


def _exchange(stream: socket.socket, path: str, headers: Mapping[str, str], body: bytes, left: Callable[[], float]) -> Reply:
    connection: Any = http.client.HTTPConnection("pinned")
    connection.auto_open = 0  # subtle: it would open one of its own, with a lookup of its own
    connection.sock = _Limited(stream, left)
    connection.request("POST", path, body, dict(headers))
    response: http.client.HTTPResponse = connection.getresponse()
    _read_a_little(response)
    return Reply(response.status, response.getheader("Retry-After"))


def _read_a_little(response: http.client.HTTPResponse) -> None:
    """Take the body to its end, or as much as `MOST_READ`, whatever the receiver says of its length."""
    # subtle: `read` takes a chunk whose size is negative for "all there is", and `read1` does not know that a body of known length is over
    left = MOST_READ if response.length is None else min(MOST_READ, response.length)
    try:
        while left > 0 and (part := response.read1(min(left, _PIECE))):
            left -= len(part)
    except OverflowError as error:
        raise http.client.IncompleteRead(b"") from error


class _Limited:
    """A socket as `http.client` wants one, whose every call has only the time that is left for all of them."""

    def __init__(self, stream: socket.socket, left: Callable[[], float]) -> None:
        self._stream, self._left = stream, left

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._stream.settimeout(self._left())
            rest = rest[self._stream.send(rest[:_AT_ONCE]) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._stream, self._left))

    def close(self) -> None:
        """Whoever connected closes: the answer may still be on its way when `http.client` is done with the connection."""


class _Reader(io.RawIOBase):
    def __init__(self, stream: socket.socket, left: Callable[[], float]) -> None:
        self._stream, self._left = stream, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._stream.settimeout(self._left())
        return self._stream.recv_into(buffer)
