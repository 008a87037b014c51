"""The client's status line is installed where there is none, and taken back exactly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import scopes
from holdfast.files import status_file
from holdfast.install import install, installs, register, uninstall
from holdfast.install.install import Options

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Target

pytestmark = pytest.mark.usefixtures("no_client")

OURS = {"type": "command", "command": register.STATUS_LINE, "refreshInterval": register.STATUS_REFRESH_S}
OTHER = {"type": "command", "command": "~/mine.sh", "padding": 2}
ODD = '{ "model": "x",\n\t"statusLine" : %s }'


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """The user's settings, which don't exist yet."""
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return scopes.target("user", tmp_path / "project")


def given(target: Target, text: str) -> str:
    target.settings.parent.mkdir(parents=True, exist_ok=True)
    target.settings.write_text(text)
    return text


def line(target: Target) -> object:
    return json.loads(target.settings.read_text()).get("statusLine")


def said(lines: list[str]) -> str:
    return "\n".join(lines)


def test_it_is_added_only_when_asked_for(target: Target) -> None:
    """Also to an installation that lacks it; a later install leaves it in place."""
    assert "Status line" not in said(install.install(target))
    assert line(target) is None
    assert not status_file.folder().exists()

    assert "Status line: Holdfast's" in said(install.install(target, Options(status_line=True)))
    assert line(target) == OURS
    assert status_file.folder().stat().st_mode & 0o777 == 0o700
    before = target.settings.read_bytes()

    install.install(target, Options(status_line=True))
    assert "Status line" not in said(install.install(target))
    assert target.settings.read_bytes() == before
    record = installs.get(target.real)
    assert record is not None and record.status_line


@pytest.mark.parametrize("present", [OTHER, OTHER | {"command": "odd"}])
def test_one_of_your_own_stays(target: Target, present: object) -> None:
    """You are told how yours shows ours, and events keep what it shows."""
    given(target, ODD % json.dumps(present))

    told = said(install.install(target, Options(status_line=True)))

    assert json.dumps(present) in target.settings.read_text()
    assert "has one already, which stays" in told
    assert f'| "{register.LAUNCHER}" --status' in told
    assert status_file.folder().is_dir()


def test_a_file_somebody_changed_loses_exactly_the_line(target: Target) -> None:
    """Also one that somebody set further keys of."""
    given(target, '{\n  "model": "x"\n}\n')
    install.install(target, Options(status_line=True))
    text = target.settings.read_text().replace('"refreshInterval": 30', '"refreshInterval": 5,\n    "padding": 1')
    given(target, text.replace('"x"', '"y"'))
    assert "padding" in target.settings.read_text()

    uninstall.uninstall(target)

    assert target.settings.read_text() == '{\n  "model": "y"\n}\n'


@pytest.mark.parametrize("command", [register.STATUS_LINE + "; git branch", "~/mine.sh"])
def test_a_line_somebody_made_their_own_stays(target: Target, command: str) -> None:
    """Even if it runs ours."""
    install.install(target, Options(status_line=True))
    settings = json.loads(target.settings.read_text())
    settings["statusLine"]["command"] = command
    given(target, json.dumps(settings))

    uninstall.uninstall(target)

    assert line(target) == OURS | {"command": command}


def test_it_goes_without_a_record_too(target: Target) -> None:
    """Its text alone says that it is Holdfast's."""
    given(target, '{"model": "x"}')
    install.install(target, Options(status_line=True))
    installs.file().write_text("broken")

    uninstall.uninstall(target)

    assert json.loads(target.settings.read_text()) == {"model": "x"}


def test_what_it_shows_is_kept_as_long_as_one_install_wants_it(target: Target) -> None:
    """The last one takes the files with it."""
    local = scopes.target("local", target.root)
    install.install(target, Options(status_line=True))
    install.install(local, Options(status_line=True))
    (status_file.folder() / "me").write_text("x")

    uninstall.uninstall(local)
    assert (status_file.folder() / "me").exists()
    uninstall.uninstall(target)
    assert not status_file.folder().exists()


def test_a_preview_shows_the_line(target: Target) -> None:
    """And changes nothing."""
    assert '+  "statusLine": {' in install.preview(target, Options(status_line=True))
    assert "statusLine" not in install.preview(target)
    assert not target.settings.exists() and not status_file.folder().exists()
