"""A real headless browser: the one that `make browser` fetches, or the one that HOLDFAST_BROWSER names."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from tests.commandline import holdfast
from tests.played import Days
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from holdfast.testing import HoldfastProject

FETCHED = ROOT / ".browser" / "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE, PHONE = (1200, 900), (390, 844)


@dataclass
class Opened:
    """A page in a browser, and what it did while it was opened and used.

    Attributes:
        page: the page.
        requests: what it asked for.
        messages: what the browser said of it, as of something that its policy forbids.
    """

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; that there is none is a failure, for this target is there to have one."""
    named = os.environ.get("HOLDFAST_BROWSER") or (str(FETCHED) if FETCHED.exists() else "")
    program = named or next(filter(None, map(shutil.which, NAMES)), None)
    assert program, "no browser: run `make browser`, or name one in HOLDFAST_BROWSER"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=30_000)
        yield started
        started.close()


@pytest.fixture
def report(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The report of three days of work."""
    days = Days(holdfast_project({}), monkeypatch, tmp_path)
    return write(days, tmp_path / "report.html")


def write(days: Days, page: Path) -> Path:
    """Play days of work, write their report, and return where it lies."""
    days.play()
    holdfast("report", str(page), root=days.project.root)
    return page


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Callable[..., Opened]]:
    """Give a function that opens the report or another page, without a network: at a size, in a scheme, …"""
    with ExitStack() as stack:

        def open_(size: tuple[int, int] = WIDE, place: Path = report, **options: Any) -> Opened:
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True, **options)
            stack.callback(context.close)
            found = Opened(context.new_page())
            found.page.on("request", lambda request: found.requests.append(request.url))
            found.page.on("console", lambda message: found.messages.append(message.text))
            found.page.on("pageerror", lambda error: found.messages.append(str(error)))
            found.page.goto(place.as_uri())
            return found

        yield open_
