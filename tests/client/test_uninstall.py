"""An uninstall leaves no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, say

if TYPE_CHECKING:
    from tests.client.world import World

BEFORE = (
    b'{\r\n\t"permissions": {"allow": ["Bash(ls:*)"]},\r\n\t"model": "claude-sonnet-4-5",\r\n'
    b'\t"cleanupPeriodDays": 3e1,\r\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}\r\n}'
)


@pytest.mark.scenario(10)
def test_byte_for_byte(bare: World) -> None:
    """The settings file is the one from before, also after sessions, and the client runs on."""
    bare.settings.write_bytes(BEFORE)
    bare.holdfast("install", "--scope", "user", "--yes")
    assert bare.settings.read_bytes() != BEFORE
    bare.model.turns = [bash("holdfast status"), say("Done.")]
    bare.client.session().prompt("Begin.")
    bare.client.close()
    bare.holdfast("uninstall", "--scope", "user")
    assert bare.settings.read_bytes() == BEFORE
    assert not [*bare.client.config.glob("skills/holdfast*")]
    session = bare.client.session()
    session.prompt("Go on.")
    assert {a["hook_event"] for a in bare.hooks(session)} <= {"Stop"}


@pytest.mark.scenario(10)
def test_where_there_was_no_file(bare: World) -> None:
    """A file that did not exist does not exist afterwards."""
    bare.holdfast("install", "--scope", "user")
    bare.client.session().prompt("Begin.")
    bare.client.close()
    bare.holdfast("uninstall", "--scope", "user")
    assert not bare.settings.exists()
