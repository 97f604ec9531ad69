"""Rights that a process gives up before it runs foreign code, and cannot have back.

As root it becomes a user who owns nothing but its room. Everybody drops the special rights that came with a namespace, gains none by starting a
program, and, where no new process is wanted (`settled`), is refused each by the kernel: what it leaves behind is then nothing but itself. Linux, on
the two kinds of processor that we know.

Not handled here: what can be seen and reached (see `namespaces`), limits on memory and time (see `checks.limits`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from dataclasses import dataclass

from labkit.classroom.namespaces import call

NO_NEW_RIGHTS, SECCOMP, FILTER = 38, 22, 2  # prctl
CAPABILITIES_3 = 0x20080522
MOST_PROCESSES = 256  # of this user, threads counted
FIRST_USER, USERS = 61184, 4096  # numbers that are set aside for users who come and go
LOAD, SAME, AT_LEAST, HAS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # of the filter's language
NUMBER, MACHINE, ARGUMENT = 0, 4, 16  # where they stand in what the filter looks at
ALLOW, REFUSE, NOT_THERE = 0x7FFF0000, 0x00050001, 0x00050026  # EPERM, ENOSYS
THREAD = 0x00010000
X32 = 0x40000000  # a second set of numbers on x86_64


@dataclass(frozen=True)
class Calls:
    """The numbers of system calls on one kind of machine; `refused` are those that start, watch, signal or move processes, or hand out what does."""

    machine: int
    clone: int
    kill: int
    refused: tuple[int, ...]
    clone3: int = 435


CALLS = {
    "x86_64": Calls(
        0xC000003E, 56, 62,
        (57, 58, 59, 101, 129, 155, 161, 165, 166, 200, 248, 249, 250, 272, 297, 298, 308, 310, 311, 321, 322, 424, 425, 428, 429, 434),
    ),
    "aarch64": Calls(
        0xC00000B7, 220, 129,
        (39, 40, 41, 51, 97, 117, 130, 138, 217, 218, 219, 221, 240, 241, 268, 270, 271, 280, 281, 424, 425, 428, 429, 434),
    ),
}  # fmt: skip


def known_machine() -> bool:
    """Whether new processes can be refused here."""
    return sys.platform == "linux" and platform.machine() in CALLS


def give_up(user: int | None) -> None:
    """Become this user (None: stay who one is), without any special right."""
    import resource

    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))
    if sys.platform == "linux":
        call("prctl", NO_NEW_RIGHTS, 1, 0, 0, 0)
        header, nothing = struct.pack("Ii", CAPABILITIES_3, 0), struct.pack("6I", *[0] * 6)
        call("capset", header, nothing)


def settled() -> None:
    """From now on no new process: a call that starts one is refused, and so is one that signals or looks into another. Threads are free."""
    program = _program(CALLS[platform.machine()])
    code = ctypes.create_string_buffer(program, len(program))
    call("prctl", SECCOMP, FILTER, struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)), 0, 0)


def _program(calls: Calls) -> bytes:
    """The kernel's filter: per step what it does, with what, and where it goes on if so and if not ("" is the next step)."""
    steps = [
        ("", LOAD, MACHINE, "", ""),
        ("", SAME, calls.machine, "", "refuse"),
        ("", LOAD, NUMBER, "", ""),
        ("", AT_LEAST, X32, "refuse", ""),
        *(("", SAME, number, "refuse", "") for number in calls.refused),
        ("", SAME, calls.clone3, "not there", ""),  # the C library then takes clone, whose flags can be seen
        ("", SAME, calls.clone, "clone", ""),
        ("", SAME, calls.kill, "", "allow"),
        ("", LOAD, ARGUMENT, "", ""),
        ("", SAME, os.getpid(), "allow", "refuse"),
        ("clone", LOAD, ARGUMENT, "", ""),
        ("", HAS, THREAD, "allow", "refuse"),
        ("allow", RETURN, ALLOW, "", ""),
        ("refuse", RETURN, REFUSE, "", ""),
        ("not there", RETURN, NOT_THERE, "", ""),
    ]
    places = {label: at for at, (label, *_) in enumerate(steps) if label}

    def jump(at: int, label: str) -> int:
        return places[label] - at - 1 if label else 0

    return b"".join(
        struct.pack("HBBI", code, jump(at, so), jump(at, otherwise), value) for at, (_, code, value, so, otherwise) in enumerate(steps)
    )
