"""The Python Agent SDK runs the same client, and guidance arrives there too."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.client.conftest import CLIENTS
from tests.client.model import bash, say
from tests.client.test_compaction import FACTS, HEADING, begin, guidance

if TYPE_CHECKING:
    from tests.client.world import World

PYTHON = CLIENTS / "sdk" / "bin" / "python"
SCRIPT = Path(__file__).with_name("sdk_session.py")


@pytest.mark.scenario(13)
def test_the_sdk_gets_the_guidance(world: World) -> None:
    """With the settings loaded, a compaction is followed by the whole guidance, once; the model's Bash works."""
    if not PYTHON.exists():
        pytest.fail(f"no Agent SDK in {PYTHON}; make client fetches it")
    begin(world, "compaction")
    world.model.turns = [bash("holdfast update --remind 'Said by the SDK'"), say("Done.")]
    prompts = ["Begin.", "Work.", "/compact", "Go on."]
    client = world.client
    ran = subprocess.run(
        [PYTHON, SCRIPT, client.binary, client.project, json.dumps(client.environ), *prompts],
        capture_output=True,
        text=True,
        env=client.environ,
        cwd=client.project,
        timeout=120,
        check=False,
    )
    print(ran.stdout, ran.stderr)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    world.other_lines += [each["line"] for each in lines if "line" in each]
    said = [each for each in lines if "prompt" in each]
    assert [each["prompt"] for each in said] == prompts
    assert not [each for each in said if each["error"]]
    after = world.model.of("main")[-1].text
    assert after.count(HEADING) == 1
    assert not [fact for fact in [*FACTS, "Said by the SDK"] if fact not in guidance(after)]
    assert not world.complaints
