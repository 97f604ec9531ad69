"""A process that moves into a world of its own: other mounts, other process numbers, no network, nobody to talk to. Linux.

`move_in` gives the calling process namespaces and a root folder that holds what was listed and nothing else, all of it read-only but for the rooms.
Processes that it forks from then on have numbers of their own and see nobody outside, though the caller, itself outside of those numbers, knows them
by its own. As root this needs no help; anybody else first becomes root of a user namespace, where the system allows that.

Not handled here: rights that are given up (see `rights`), and what ought to be seen (see `visible`).
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS, AGAIN, BIND, WITH_ALL_BELOW, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DIE_WITH_PARENT = 1  # prctl
SET_FLAGS, GET_FLAGS, IS_UP = 0x8914, 0x8913, 1  # of a network interface
MOST_FILES = 1 << 12
DEVICES = ("null", "zero", "full", "random", "urandom")
KEPT_FLAGS = READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS  # as statvfs tells them, too


@dataclass(frozen=True)
class View:
    """What is seen from inside: `shown` read-only, of it nothing below `hidden`; `rooms` may be written to. `root` is an empty folder to build it on."""

    root: str
    shown: Sequence[str]
    hidden: Sequence[str]
    rooms: str
    processes: bool = False  # whether there is a /proc, for programs that look there


@cache
def libc() -> ctypes.CDLL:
    """The C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> None:
    """Call the C library; raises `OSError` where it refuses."""
    if getattr(libc(), name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def move_in(view: View) -> None:
    """Into namespaces of one's own with this view. Raises `OSError` where the system does not allow it; the caller is then good for nothing else."""
    user, group = os.getuid(), os.getgid()
    call("unshare", NEW_MOUNTS | NEW_IPC | NEW_PIDS | NEW_NET | (NEW_USER if user else 0))
    if user:  # subtle: one's own number stays what it was; what one may do inside comes with the namespace
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _loopback()
    _mount("none", "/", WITH_ALL_BELOW | PRIVATE)
    _build(view)
    _first_process()
    if view.processes:
        return  # subtle: /proc shows the numbers of whoever mounts it, which one of the processes inside must do
    enter(view)


def enter(view: View) -> None:
    """Go into the built root, for good."""
    if view.processes:
        _mount("proc", f"{view.root}/proc", NO_SETUID | NO_DEVICES | NO_PROGRAMS, "proc")
    _mount("none", view.root, AGAIN | READ_ONLY | NO_SETUID | NO_DEVICES)
    os.chroot(view.root)
    os.chdir("/")


def _mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    try:
        call("mount", source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({source} on {target})") from None


def _build(view: View) -> None:
    """The root, by and by: a small disk in memory with the shown folders bound into it."""
    _mount("labkit", view.root, NO_SETUID | NO_DEVICES, "tmpfs", "mode=755,size=1m")
    for device in DEVICES:
        if os.path.exists(f"/dev/{device}"):
            _bind(f"/dev/{device}", view.root, NO_SETUID)
    for path in sorted(view.shown, key=len):
        if os.path.islink(path):
            _link(path, view.root)
        elif os.path.exists(path) and not _within(path, view.shown):
            _bind(path, view.root, READ_ONLY | NO_SETUID | NO_DEVICES)
    for path in view.hidden:
        if _within(path, view.shown) and os.path.isdir(view.root + path):
            _mount("labkit", view.root + path, READ_ONLY, "tmpfs", "mode=555,size=4k")
    _bind(view.rooms, view.root, NO_SETUID | NO_DEVICES)
    (Path(view.root) / "proc").mkdir(exist_ok=True)


def _within(path: str, others: Sequence[str]) -> bool:
    return any(path.startswith(other.rstrip("/") + "/") and not os.path.islink(other) for other in others)


def _link(path: str, root: str) -> None:
    Path(root + path).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(os.readlink(path), root + path)


def _bind(path: str, root: str, flags: int) -> None:
    """Show this path at its own place. What the system has locked on it stays locked."""
    there = Path(root + path)
    if os.path.isdir(path):
        there.mkdir(parents=True, exist_ok=True)
    else:
        there.parent.mkdir(parents=True, exist_ok=True)
        there.touch()
    _mount(path, str(there), BIND | WITH_ALL_BELOW)
    for mounted in _mounted_below(str(there)):  # subtle: a bind takes its flags mount by mount
        locked = os.statvfs(mounted).f_flag & KEPT_FLAGS
        _mount("none", mounted, AGAIN | BIND | locked | (flags & ~NO_DEVICES if _is_device(mounted) else flags))


def _is_device(path: str) -> bool:
    return stat.S_ISCHR(os.stat(path).st_mode)


def _mounted_below(path: str) -> list[str]:
    """This mount and those below it, the outermost first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        places = [_plain(line.split()[4]) for line in lines]
    return sorted({place for place in places if place == path or place.startswith(f"{path}/")}, key=len)


def _plain(place: str) -> str:
    for code, text in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        place = place.replace(code, text)
    return place


def _loopback() -> None:
    """Let the new network have 127.0.0.1, and nothing beyond it."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        asked = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack("16sH22x", fcntl.ioctl(one, GET_FLAGS, asked))[1]
        fcntl.ioctl(one, SET_FLAGS, struct.pack("16sH22x", b"lo", flags | IS_UP))


def _first_process() -> None:
    """Fork the process that is number 1 inside: it does nothing, and when it goes the system ends all that are left there."""
    if os.fork() == 0:
        call("prctl", DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans are taken away by the system
        os.closerange(0, MOST_FILES)  # subtle: a wire that it kept open would never come to its end
        while True:
            signal.pause()
