"""Where a webhook may go: how an address is read, which spellings of inner addresses are seen through, and that a name is asked once."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from labkit.errors import TransientError, UsageError
from labkit.webhook import check_url
from labkit.webhook.address import addresses_of, read_url, system_resolve
from labkit.webhook.public import is_public, networks

# what is reached through each of these is not public, in whatever way it is written
INSIDE = [
    "127.0.0.1", "127.1.2.3", "127.255.255.255", "0.0.0.0", "0.1.2.3",
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
    "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "169.254.169.254", "169.254.0.1", "168.63.129.16", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "127.0.0.1.", "10.0.0.1.",  # with the dot of the root
    "2130706433", "017700000001", "0x7f000001", "0X7F000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1",
    "010.0.0.1", "10.1", "0xa9fea9fe", "169.254.43518", "0251.0376.0251.0376", "0", "0x", "127.0.0.01", "1.2.3.4.5", "256.0.0.1",
    "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "１６９。２５４。１６９。２５４",  # letters that become digits and dots
    "127%2e0.0.1", "%31%32%37.0.0.1",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:8.8.8.8]",
    "[::127.0.0.1]", "[::a00:1]",  # IPv4-compatible
    "[2002:7f00:1::]", "[2002:a00:1::1]",  # 6to4
    "[2001:0:53aa:64c:0:0:80ff:fffe]",  # Teredo
    "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",  # NAT64
    "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]",
    "[4000::1]", "[5f00::1]",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "172.32.0.1", "100.128.0.1", "11.0.0.1", "169.253.0.1", "223.255.255.255",
          "2606:4700:4700::1111", "2a00:1450:4001:830::200e"]  # fmt: skip
UNUSABLE = [
    "", "hook", "/hook", "//example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)",
    "http:", "http:/", "http://", "http:///hook", "http:example.com", "https://:443/", "http://?a", "http://.", "http://a..b/", "http://.a/",
    "http://user@example.com/", "http://user:secret@example.com/", "http://@example.com/", "http://:@example.com/", "http://example.com@10.0.0.1/",
    "http://example.com/#part", "http://example.com#@10.0.0.1/", "http://example.com/#",
    "http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:80a/", "http://1::2/",
    "http://[::1", "http://::1]/", "http://[::1].example.com/", "http://example.com[::1]/", "http://[example.com]/", "http://[]/", "http://[::1]x:80/",
    "http://exa mple.com/", " http://example.com/", "http://example.com/a b", "http://example.com\\@10.0.0.1/", "http:\\\\10.0.0.1\\",
    "http://example.com/\r\nHost: inner", "http://exam\tple.com/", "http://example.com/\x00", "http://\u200bexample.com/", "http://ex%61mple.com/",
    "http://-a.example/", "http://a-.example/", "http://a!b.example/", f"http://{'a' * 64}.example/", f"http://{'a.' * 130}example/",
    f"http://example.com/{'a' * 2_000}", "http://\ud800.example/", "http://ex＠10.0.0.1/", "http://example.com／hook",
]  # fmt: skip


def reached(url: str) -> list[str]:
    """Where this address leads, with a resolver that knows no names."""
    return [str(address) for address in addresses_of(read_url(url), lambda name: [], [])]


@pytest.mark.parametrize("host", INSIDE)
@pytest.mark.parametrize("form", ["http://{}/", "https://{}:8443/hook?a=1"])
def test_inside(host: str, form: str) -> None:
    """No spelling of an address that is not public gets through, and no name server is asked about it."""
    with pytest.raises(UsageError) as refused:
        reached(form.format(host))
    assert 1 == len(str(refused.value).splitlines())


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    """The twin: public addresses are reached as they are."""
    host = f"[{address}]" if ":" in address else address
    assert [address] == reached(f"http://{host}/")


def test_the_table_agrees_with_the_library() -> None:
    """Just inside and just beside the blocks: what Python calls private, local, reserved or multicast is not public here."""
    edges = ["9.255.255.255", "10.0.0.0", "100.63.255.255", "126.255.255.255", "128.0.0.0", "172.15.255.255", "191.255.255.255", "192.167.255.255",
             "192.169.0.0", "197.255.255.255", "198.20.0.0", "223.255.255.255", "::2", "1fff:ffff::", "2000::", "2003::", "3fff:1000::", "fbff::"]  # fmt: skip
    for text in edges:
        address = ip_address(text)
        outside = address.is_private or address.is_multicast or address.is_reserved or address.is_loopback or address.is_link_local
        assert not (outside and is_public(address)), text
    inside = ["10.0.0.0", "::2", "1fff:ffff::", "fbff::"]
    assert [text for text in edges if text not in inside] == [text for text in edges if is_public(ip_address(text))]


@pytest.mark.parametrize("url", UNUSABLE)
def test_unusable(url: str) -> None:
    """What can be no address of a webhook is refused at submit, in one line that does not repeat it."""
    with pytest.raises(UsageError) as refused:
        check_url(url)
    assert 1 == len(str(refused.value).splitlines())
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "host", "authority", "path"),
    [
        ("http://example.com", "example.com", "example.com", "/"),
        ("HTTPS://Example.COM:443/Hook?a=1&b", "example.com", "example.com", "/Hook?a=1&b"),
        ("https://example.com.:8443/", "example.com", "example.com:8443", "/"),
        ("http://bücher.example/straße?ü=%20", "xn--bcher-kva.example", "xn--bcher-kva.example", "/stra%C3%9Fe?%C3%BC=%20"),
        ("http://a_b.internal:80/x", "a_b.internal", "a_b.internal", "/x"),
        ("http://[2606:4700::1]:81/", "2606:4700::1", "[2606:4700::1]:81", "/"),
        ("http://localhost:/", "localhost", "localhost", "/"),
        ("http://127.0.0.1:8000/", "127.0.0.1", "127.0.0.1:8000", "/"),  # may be allowed: decided when it is sent
        (f"http://example.com/{'a' * 1_980}", "example.com", "example.com", f"/{'a' * 1_980}"),
    ],
)
def test_read(url: str, host: str, authority: str, path: str) -> None:
    """The parts of an address, with the name in ASCII and the path as it goes over the wire."""
    check_url(url)
    target = read_url(url)
    assert (host, authority, path) == (target.host, target.authority, target.path)


@pytest.mark.parametrize(
    "found", [["127.0.0.1"], ["::1"], ["10.1.2.3"], ["::ffff:10.0.0.1"], ["8.8.8.8", "169.254.169.254"], ["fe80::1%lo"]]
)
def test_one_bad_address_refuses_the_name(found: list[str]) -> None:
    """Every address that a name gives must be public, the first one and the last."""
    with pytest.raises(UsageError, match="not public"):
        addresses_of(read_url("http://hook.example/"), lambda name: found, [])


def test_the_name_is_asked_once() -> None:
    """The resolver is asked once, by the name in ASCII, and its order is kept; one without an answer may have one later."""
    asked: list[str] = []

    def resolve(name: str) -> list[str]:
        asked.append(name)
        return ["2606:4700::1", "8.8.8.8"]

    assert ["2606:4700::1", "8.8.8.8"] == [str(a) for a in addresses_of(read_url("http://Bücher.example./"), resolve, [])]
    assert ["xn--bcher-kva.example"] == asked
    with pytest.raises(TransientError, match="no address"):
        addresses_of(read_url("http://hook.example/"), lambda name: [], [])
    with pytest.raises(TransientError, match="cannot be resolved"):
        addresses_of(read_url("http://hook.example/"), lambda name: ["8.8.8.8", "nonsense"], [])


def test_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's resolver gives is taken once each, and a name that it does not know may be known later."""

    def known(name: str, port: object, **options: object) -> list[tuple[object, ...]]:
        if name == "gone.example":
            raise socket.gaierror(-2, "Name or service not known")
        return [(2, 1, 6, "", ("8.8.8.8", 0)), (2, 1, 6, "", ("8.8.8.8", 0)), (10, 1, 6, "", ("2606:4700::1", 0, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", known)
    assert ["8.8.8.8", "2606:4700::1"] == system_resolve("hook.example")
    with pytest.raises(TransientError, match="cannot be resolved"):
        addresses_of(read_url("http://gone.example/"), system_resolve, [])


def test_allowed_networks() -> None:
    """An allowed network is let through and nothing beside it, also not in another form."""
    allowed = networks(["127.0.0.0/8", "fd00::/8"])
    for host in ("127.0.0.1", "[fd00::1]"):
        assert addresses_of(read_url(f"http://{host}/"), lambda name: [], allowed)
    for host in ("10.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"):
        with pytest.raises(UsageError):
            addresses_of(read_url(f"http://{host}/"), lambda name: [], allowed)
    with pytest.raises(UsageError, match="not a network"):
        networks(["everything"])
