"""The check knows whose status line the client shows, and repairs what keeps ours from showing anything."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import scopes
from holdfast.files import status_file
from holdfast.install import install
from holdfast.install.install import Options
from tests.doctoring import healthy, obey, only

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope

OTHER = {"statusLine": {"type": "command", "command": "~/mine.sh"}}


def put(root: Path, scope: Scope = "user") -> Path:
    target = scopes.target(scope, root)
    install.install(target, Options(status_line=True))
    return target.settings


def give(root: Path, scope: Scope, settings: object) -> Path:
    file = scopes.target(scope, root).settings
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))
    return file


def test_one_of_your_own_that_may_show_ours_is_well(root: Path) -> None:
    """As an install said how."""
    give(root, "user", OTHER)
    put(root)
    assert "program of your own" in healthy("status_line", root)


def test_a_missing_folder_is_made_again(root: Path) -> None:
    """Without it no event writes what the line shows."""
    put(root)
    shutil.rmtree(status_file.folder())

    found = only("status_line", root, "problem")

    assert str(status_file.folder()) in found.text
    obey(found, root)
    healthy("status_line", root)


@pytest.mark.parametrize("scope", ["project", "local"])
def test_one_that_hides_ours_is_named(root: Path, scope: Scope) -> None:
    """A nearer scope's counts for the client."""
    ours = put(root)
    other = give(root, scope, OTHER)

    found = only("status_line", root, "notice")

    assert str(other) in found.text and str(ours) in found.remedy
    other.unlink()
    healthy("status_line", root)
