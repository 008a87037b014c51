"""Which settings files the client ignores: what `holdfast install` and `holdfast doctor` say is what it does."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude import settings_schema, versions
from tests.client.model import say

if TYPE_CHECKING:
    from tests.client.world import World

TRUE = {"type": "command", "command": "true"}
SHAPES: tuple[dict[str, Any], ...] = (
    {},
    {"hooks": {"PostToolUse": [{"matcher": {"tools": ["Bash"]}, "hooks": [TRUE]}]}},
    {"hooks": {"PostToolUse": [{"hooks": [TRUE | {"timeout": "5"}]}]}},
    {"hooks": {"PostToolUse": [TRUE]}},
    {"hooks": {"PreToolUse": [{"matcher": ["Bash"], "hooks": [TRUE]}]}},
    {"hooks": {"NoSuchEvent": [{"matcher": 1}]}},
    {"disableAllHooks": "true"},
    {"statusLine": "date"},
    {"statusLine": None},
    {"model": 4},
    {"cleanupPeriodDays": "30"},
    {"env": {"NUMBER": 1, "YES": True}, "unknown": {"key": []}},
    {"permissions": {"defaultMode": "everything"}},
    {"permissions": {"allow": "Bash"}},
    {"permissions": {"allow": [1]}},
)


@pytest.mark.scenario(14)
def test_the_client_ignores_what_holdfast_says(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each shape beside a hook: the hook runs exactly if there is no fatal fault."""
    major, minor, patch = map(int, re.findall(r"\d+", bare.version))
    monkeypatch.setattr(versions, "version", lambda: (major, minor, patch))
    witness, wrong = bare.client.home / "started", []
    start = [{"hooks": [{"type": "command", "command": f"touch {witness}"}]}]
    command = [str(bare.client.binary), "-p", "--model", bare.client.model, "Hello."]
    for shape in SHAPES:
        text = json.dumps({**shape, "hooks": {**shape.get("hooks", {}), "SessionStart": start}})
        bare.settings.write_text(text)
        bare.model.turns.append(say("Hello."))
        subprocess.run(command, cwd=bare.project, env=bare.client.environ, stdin=subprocess.DEVNULL, timeout=60)
        ran, faults = witness.exists(), settings_schema.faults(text)
        witness.unlink(missing_ok=True)
        if ran == any(fault.fatal for fault in faults):
            wrong.append(f"{shape}: the hook {'ran' if ran else 'did not run'}, but {[*map(str, faults)]}")
    assert not wrong, "\n".join(wrong)
