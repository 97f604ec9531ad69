"""Which addresses belong to the public internet: everything else is somebody's inside, and no webhook goes there.

A table, not the standard library's word: what `is_global` says differs between versions of Python, and is yes for multicast. Of IPv6 only
what is handed out as unicast is public. Forms that carry an IPv4 address inside (mapped, compatible, 6to4, Teredo, NAT64) are refused as
such, since what is reached through them is the address inside. An operator may allow networks, and then names exactly which.

Not handled here: a public address of one's own network, such as that of the machine itself. A firewall knows that; this table cannot.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from labkit.errors import UsageError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC_4 = [
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network, and what is unspecified
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",  # private
        "100.64.0.0/10",  # carriers' NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's inside, though the address looks public
        "169.254.0.0/16",  # link-local, and there the metadata of clouds
        "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15",  # protocols, examples, tests
        "192.88.99.0/24",  # relays to 6to4
        "224.0.0.0/4", "240.0.0.0/4",  # multicast, reserved, broadcast
    )
]  # fmt: skip
_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = [
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocols, and there Teredo
        "2001:db8::/32", "3fff::/20",  # examples
        "2002::/16",  # 6to4
    )
]  # fmt: skip


def is_public(address: Address) -> bool:
    """Whether this is an address of the public internet, and of nobody's inside."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _UNICAST_6 and not any(address in network for network in _NOT_PUBLIC_6)


def networks(texts: Iterable[str]) -> list[Network]:
    """Networks such as 10.1.0.0/16 or ::1; `UsageError` for what is none."""
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise UsageError(f"not a network that webhooks could be allowed to reach: {error}") from None


def may_reach(address: Address, allowed: Iterable[Network]) -> bool:
    """Whether a webhook may go to this address: it is public, or in a network that was allowed."""
    return is_public(address) or any(address in network for network in allowed)
