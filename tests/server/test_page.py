"""The page in a real browser, with `labkit serve` and `labkit worker` as real processes beside it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import headless_browser
from tests.checkout import ROOT
from tests.queue.soaking import ENVIRONMENT

pytestmark = pytest.mark.slow
WAIT = 60_000  # milliseconds; a busy machine is no failure


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; skipped where there is none, but not in CI."""
    with headless_browser() as started:
        yield started


class House:
    """One database, one server on it, and workers; all gone at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.gates = folder, folder / "gates"
        self.gates.mkdir()
        self.url = f"sqlite:///{folder}/tasks.db"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "labkit", words[0], "--database-url", self.url, *words[1:]]
        environment = {**ENVIRONMENT, "GATES": str(self.gates)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()  # it says when it is ready
        assert line.startswith(("serving", "working")), line + process.stdout.read()
        return process

    def serve(self) -> subprocess.Popen[str]:
        return self.start("serve", "--port", str(self.port))

    def work(self) -> subprocess.Popen[str]:
        return self.start("worker", "--app", "tests.server.app:deploy", "--lease", "1")

    def open(self, *gates: int) -> None:
        for gate in gates:
            (self.gates / str(gate)).touch()

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    try:
        made.serve()
        yield made
    finally:
        made.end()


@pytest.fixture
def page(browser: Any, house: House) -> Iterator[Any]:
    """The page, and at the end a look at whether anything went wrong in it."""
    wrong: list[str] = []
    opened = browser.new_page()
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: wrong.append(request.url) if f":{house.port}/" not in request.url and not request.url.startswith("data:") else None)
    opened.goto(f"http://127.0.0.1:{house.port}/")
    yield opened
    opened.close()
    assert [] == wrong


def submit(page: Any, text: str) -> Any:
    """Type, press Enter, and find the card."""
    page.get_by_label("What shall be done").fill(text)
    page.get_by_label("What shall be done").press("Enter")
    card = page.locator(".task", has_text=text)
    card.wait_for(timeout=WAIT)
    return card


def reaches(page: Any, card: Any, state: str) -> None:
    page.locator(f".task[data-state={state}]").filter(has_text=card.locator("h3").inner_text()).wait_for(timeout=WAIT)


def told(card: Any) -> list[str]:
    return [line.split(":")[0] for line in card.locator(".log li").all_text_contents()]


def bar(card: Any, value: float) -> None:
    """The progress bar comes to show this value."""
    card.page.wait_for_function("([bar, value]) => Math.abs(bar.value - value) < 0.01", arg=[card.locator("progress").element_handle(), value], timeout=WAIT)


def test_progress_over_a_restart_of_the_server(page: Any, house: House) -> None:
    """Steps and tools as they happen; the server is started again in the middle, and nothing is missing or told twice."""
    house.work()
    card = submit(page, "deploy shop")
    house.open(1)
    bar(card, 1 / 3)
    assert "create_namespace" in card.locator(".now").inner_text()
    server = house.processes[0]
    server.terminate()
    assert 0 == server.wait(60)
    house.open(2)
    page.get_by_text("no connection").wait_for(timeout=WAIT)
    house.serve()
    bar(card, 2 / 3)
    house.open(3, 4)
    reaches(page, card, "completed")
    assert "deploy shop is up" == card.locator(".now").inner_text()
    assert ["runs create_namespace", "runs deploy_container", "runs configure_route", "completed"] == told(card)
    assert card.get_by_role("button", name="Cancel").is_disabled()


def test_a_worker_dies(page: Any, house: House) -> None:
    """SIGKILL in the middle: another worker completes the task when the lease ends, and the page shows it."""
    first = house.work()
    card = submit(page, "deploy wiki")
    house.open(1)
    bar(card, 1 / 3)
    first.kill()
    house.work()
    house.open(2, 3, 4)
    reaches(page, card, "completed")
    assert "2 attempts" in card.locator(".who").inner_text()
    assert "completed" == told(card)[-1]


def test_cancel(page: Any, house: House) -> None:
    """Cancelled while it runs: the task ends, the worker stops at it, and takes the next one."""
    house.work()
    card = submit(page, "deploy lamp")
    house.open(1)
    bar(card, 1 / 3)
    card.get_by_role("button", name="Cancel deploy lamp").click()
    reaches(page, card, "cancelled")
    card.locator(".log li", has_text="error").wait_for(state="attached", timeout=WAIT)
    assert ["runs create_namespace", "error"] == told(card)
    house.open(2, 3, 4)
    reaches(page, submit(page, "deploy blog"), "completed")


def test_approve(page: Any, house: House) -> None:
    """A question appears, holds up no worker, and the answer lets the task go on."""
    house.work()
    house.open(1, 2, 3, 4)
    card = submit(page, "deploy risky shop")
    card.locator(".asked", has_text="May configure_route run?").wait_for(timeout=WAIT)
    reaches(page, card, "waiting")
    reaches(page, submit(page, "deploy calm shop"), "completed")
    card.get_by_role("button", name="Approve").click()
    reaches(page, card, "completed")
    assert card.locator(".question").is_hidden()
    assert "asks a person" in told(card)
