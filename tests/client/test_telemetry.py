"""The client's own telemetry and Holdfast's, at one collector: the records of a tool call stand beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, say
from tests.client.runner import SERVER
from tests.client.test_handlers import DENY, put
from tests.telemetry.receiver import receive
from tests.warmth import Warm

if TYPE_CHECKING:
    from tests.client.world import World
    from tests.telemetry.receiver import Received

JOIN = ("session.id", "prompt.id", "tool_use_id")


@pytest.mark.scenario(6)
@pytest.mark.skipif(SERVER == "killed", reason="a server that is killed sends nothing before the session ends")
def test_each_decision_stands_beside_the_records_of_the_client(world: World) -> None:
    """A refusal joins the client's record of the same tool call by session, prompt and call."""
    put(world, no=DENY)
    with receive() as receiver:
        world.configure(f'[telemetry]\nendpoint = "{receiver.url}"\n')
        world.client.extra |= {
            "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_LOGS_EXPORT_INTERVAL": "500",
        }
        world.model.turns = [
            bash("echo forbidden"),
            say("Refused."),
            bash("echo forbidden again"),
            say("Refused again."),
        ]
        session = world.client.session("--dangerously-skip-permissions")
        session.prompt("Begin.")
        session.prompt("Go on.")
        assert session.close() == 0
        Warm.until(lambda: len(receiver.named("decision")) == 2)
        client = [each for each in receiver.records if each.resource["service.name"] == "claude-code"]
        print({each.body: sorted(each.attributes) for each in client})
        theirs = {_key(each) for each in client}
        ours = [_key(each) for each in receiver.named("decision")]
        assert len(set(ours)) == 2
        assert all(all(key) for key in ours)
        assert set(ours) <= theirs
    assert not world.complaints


def _key(record: Received) -> tuple[object, ...]:
    return tuple(record.attributes.get(name) for name in JOIN)
