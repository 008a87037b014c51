"""The index of events: what it lists and what it loads."""

from __future__ import annotations

import ast
from pathlib import Path

from holdfast import events
from holdfast.clients.claude.events import HOMES
from holdfast.events import EVENTS, OLDEST_CLIENT_EVENTS, model
from tests.tables import each_row


def test_the_oldest_client_knows_none_that_came_later() -> None:
    """Client 2.1.197 knows 30 events; a newer one would silence its whole settings file."""
    assert not {"PreModelSwitch", "PostModelSwitch", "DirectoryAdded", "PreSkillShellCommand"} & OLDEST_CLIENT_EVENTS
    assert len(OLDEST_CLIENT_EVENTS) == 30


@each_row("name", EVENTS)
def test_every_event_and_every_field_is_described(name: str) -> None:
    """What a handler author sees says what each of the event's fields holds."""
    kind = model(name)
    described = "\n".join(base.__doc__ or "" for base in kind.__mro__[:3])
    own = set(kind.model_fields) - set(events.Event.model_fields) - {"tool_name"}
    assert kind.__doc__
    assert [field for field in sorted(own) if f"{field}: " not in described] == []


def test_the_type_checker_sees_the_same_names_as_the_interpreter() -> None:
    """Each module that a lazy name is loaded from is re-exported for type checkers."""
    block = next(node for node in ast.parse(Path(events.__file__).read_text()).body if isinstance(node, ast.If))
    starred = {node.module for node in block.body if isinstance(node, ast.ImportFrom)}
    lazy = {name: getattr(events, name).__module__ for name in HOMES}
    assert {name for name, module in lazy.items() if module not in starred} == set()
    assert EVENTS.keys() < lazy.keys()
