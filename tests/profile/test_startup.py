"""The sentence of `holdfast install` on what events cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.install import launcher
from holdfast.profile import startup

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy this machine is, the measurement is not given up."""
    monkeypatch.setattr(startup, "TIMEOUT_S", 60.0)


def test_it_is_measured_with_the_launcher_of_this_machine(home: Path) -> None:
    """One event takes more than nothing and leaves nothing behind in the home."""
    launcher.write()
    before = sorted(home.rglob("*"))

    seconds = startup.measured()

    assert seconds is not None
    assert seconds > 0.01
    assert sorted(home.rglob("*")) == before


def test_one_that_does_not_start_is_said() -> None:
    """Where there is no launcher, or one that fails, no figure is made up."""
    assert "could not be measured" in startup.line()

    launcher.write()
    paths.launcher().write_text("#!/bin/sh\nexit 3\n")

    assert startup.measured() is None


def test_the_line_has_the_figure(home: Path) -> None:
    """The sentence names milliseconds and where to find more."""
    launcher.write()

    line = startup.line()

    assert " ms and starts a server that makes the next ones faster" in line
    assert "holdfast profile" in line
