"""The check names a record of installs that can't be read, with what makes an uninstall possible again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.install import install, installs
from tests.doctoring import healthy, mend, obey, only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

BROKEN = [
    ("{broken", "is not JSON"),
    ("", "is empty"),
    ("[]", "holds a JSON array"),
    ('{"installs": 3}', '"installs" is missing or no object'),
    ("{}", '"installs" is missing'),
    ('{"installs": {"/x/settings.json": {}}}', '"installs./x/settings.json" isn\'t an install'),
]


@pytest.mark.parametrize(("content", "words"), BROKEN)
def test_a_broken_record_is_a_problem(root: Path, content: str, words: str) -> None:
    """The next install sets it aside and begins a new one, of all settings that name Holdfast."""
    for scope in ("user", "local"):
        install.install(scopes.target(scope, root))
    installs.file().write_text(content)

    found = only("installs", root, "problem")

    assert found.text.startswith(f"{installs.file()}: {words}")
    assert found.text.endswith(", so `holdfast uninstall` can't restore your settings")
    assert found.remedy == f"holdfast install --scope user && holdfast install --scope local --project {root}"
    assert found.fix is None
    obey(found, root)

    (aside,) = paths.state_dir().glob("installs.json.corrupt-*")
    assert aside.read_text() == content
    healthy("installs", root)
    assert len(installs.load()) == 2


@pytest.mark.usefixtures("anybody")
def test_a_record_that_is_closed_to_us_is_opened(root: Path) -> None:
    """By the command and by --fix: it may be sound, and no install should begin another."""
    install.install(scopes.target("user", root))
    file = installs.file()
    known = json.loads(file.read_text())
    file.chmod(0o000)

    found = only("installs", root, "problem")

    assert found.text == (
        f"{file}: cannot be read: Permission denied, so `holdfast uninstall` can't restore your settings"
    )
    assert found.remedy == f"chmod u+rw {file}"
    obey(found, root)
    healthy("installs", root)
    file.chmod(0o000)
    assert mend("installs", root) == [f"made {file} readable and writable for you"]
    assert json.loads(file.read_text()) == known
