"""Where a webhook may go: an address is read in one way only, and a name leads where it was checked to lead.

One reader serves the check at submit and the connection, so there is no second opinion on what an address means. It takes http and https, a host, a
port, and nothing that hides one: no user, no fragment, no backslash, no IPv4 address but four plain numbers. A name is resolved once for an
attempt, and *every* address that it gives must be public or explicitly allowed: one bad one refuses all of them. The caller connects to
these addresses and never asks for the name again, so a name that changes its mind in between (DNS rebinding) gains nothing.

Not handled here: a resolver that takes its time; how long a lookup may last is the machine's setting.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, quote, urlsplit

from labkit.errors import TransientError, UsageError
from labkit.webhook.public import Address, Network, may_reach

LONGEST_URL = 2_000  # characters
PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str], Sequence[str]]  # a name -> its addresses as text
_BRACKETED = re.compile(r"\[([0-9a-fA-F:.]+)\](?::\d*)?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)  # what systems read as a part of an IPv4 address
_IN_PATH = "/?:@!$&'()*+,;=%~-._[]"


@dataclass(frozen=True)
class Target:
    """An address, read. `host` is a name in ASCII, or `literal` as text; `path` has the query with it."""

    scheme: str
    host: str
    port: int
    path: str
    literal: Address | None = None

    @property
    def authority(self) -> str:
        """What the `Host` header says."""
        shown = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return shown if self.port == PORTS[self.scheme] else f"{shown}:{self.port}"


def check_url(url: str) -> None:
    """Refuse what can never be a webhook's address, with `UsageError` in one line that does not repeat it. Nothing is resolved."""
    read_url(url)


def read_url(url: str) -> Target:
    """The parts of an address; `UsageError`."""
    if len(url) > LONGEST_URL:
        raise UsageError(f"a webhook's address has at most {LONGEST_URL} characters, not {len(url)}")
    if not url.isprintable() or " " in url or "\\" in url:
        raise UsageError("a webhook's address holds no spaces, backslashes or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("a webhook's address must look like https://example.com/hook") from None
    if parts.scheme not in PORTS or not parts.hostname or port == 0:
        raise UsageError("a webhook's address must begin with http:// or https:// and name a host")
    if "@" in parts.netloc or "#" in url:
        raise UsageError("a webhook's address holds no user, no password and no fragment")
    host, literal = _literal_6(parts) if "[" in parts.netloc else _host(parts.hostname)
    path = quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", safe=_IN_PATH)
    return Target(parts.scheme, host, port or PORTS[parts.scheme], path, literal)


def _literal_6(parts: SplitResult) -> tuple[str, Address]:
    found = _BRACKETED.fullmatch(parts.netloc)  # subtle: the library overlooks what stands before and behind the brackets
    try:
        address = IPv6Address(found[1]) if found else None
    except ValueError:
        address = None
    if address is None:
        raise UsageError("what stands in the brackets of a webhook's address is no IPv6 address")
    return str(address), address


def _host(name: str) -> tuple[str, Address | None]:
    """The host in ASCII, and the address that it is if it is one."""
    try:
        plain = name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        raise UsageError("the host of a webhook's address is no name that can be resolved") from None
    plain = plain.lower().removesuffix(".")
    labels = plain.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # subtle: systems read such a name as an address, and not all of them as the same one
        try:
            return plain, IPv4Address(plain)
        except ValueError:
            raise UsageError("an IPv4 address in a webhook's address is four plain numbers, such as 192.0.2.1") from None
    if len(plain) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UsageError("the host of a webhook's address is no name that can be resolved")
    return plain, None


def system_resolve(name: str) -> Sequence[str]:
    """The addresses that this machine knows for a name."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def addresses_of(target: Target, resolve: Resolve, allowed: Iterable[Network]) -> list[Address]:
    """Where to connect, in the resolver's order. `UsageError` where one of them may not be reached, `TransientError` without an answer."""
    if target.literal is not None:
        found: list[Address] = [target.literal]
    else:
        try:
            found = [ip_address(text) for text in resolve(target.host)]
        except (OSError, ValueError) as error:
            raise TransientError(f"{target.host} cannot be resolved") from error
    if not found:
        raise TransientError(f"{target.host} has no address")
    permitted = list(allowed)
    for address in found:
        if not may_reach(address, permitted):
            raise UsageError(f"{target.host} leads to {address}, which is not public and was not allowed")
    return found
