"""`holdfast doctor` names a guard that wasn't asked, although Claude made calls that it selects."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock
from tests.api.author import handler
from tests.commandline import holdfast

if TYPE_CHECKING:
    from datetime import datetime

    import pytest

    from tests.api.author import Author, Authors


def called(made: Author, tool: str, at: datetime) -> None:
    """Note a tool call in a transcript, as the client does."""
    folder = made.home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(made.root))
    folder.mkdir(parents=True, exist_ok=True)
    block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {"command": "ls"}}
    entry = {"type": "assistant", "timestamp": clock.stamp(at), "message": {"content": [block]}}
    with (folder / "s1.jsonl").open("a") as file:
        file.write(json.dumps(entry, separators=(",", ":")) + "\n")


def idle(made: Author) -> str:
    """Return what doctor says about idle guards."""
    return holdfast("doctor", "guards", root=made.root).out


def test_doctor_names_a_guard_that_has_not_run_for_a_week(author: Authors, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only if a call that it selects was made since it ran; once it ran again, all is well."""
    made = author({"guard": handler("return deny('no')", options="match='Bash'")})
    now = clock.now()
    made.bash()

    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(now + timedelta(days=9)))
    called(made, "Read", now + timedelta(days=8))
    called(made, "Bash", now - timedelta(days=1))
    assert "All good" in idle(made)
    called(made, "Bash", now + timedelta(days=8))
    words = f"user/guard.py: on_pre_tool_use hasn't run since {now:%Y-%m-%d}, although Claude called Bash on"
    assert f"{words} {now + timedelta(days=8):%Y-%m-%d}" in " ".join(idle(made).split())
    assert "holdfast doctor --fire" in idle(made)

    made.bash()
    assert "All good" in idle(made)


def test_doctor_names_a_guard_that_never_ran(author: Authors, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule too; one that is asked once a session isn't named."""
    rule = 'event = "PreToolUse"\nmatch = "shell"\nwhen = { command = "rm" }\nanswer = "deny"\ntext = "no"\n'
    made = author({"once": handler("return None", options="match='Bash', once='session'")})
    made.write({f"{made.config}/handlers/never.toml": rule})
    now = clock.now()
    called(made, "Bash", now + timedelta(hours=1))
    assert "All good" in idle(made)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(now + timedelta(days=8)))
    said = " ".join(idle(made).split())
    assert f"has never run, and was written on {now:%Y-%m-%d}, although Claude called Bash" in said
    assert said.startswith("guards warning: user/never.toml:") and "once.py" not in said
    called(made, "Agent", now + timedelta(hours=1))
    (made.config / "holdfast.toml").unlink()
    assert "shipped/" not in idle(made)
