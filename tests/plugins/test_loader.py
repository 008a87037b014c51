"""Handler files are found in three places, ordered, trusted, replaced, and run from the bytes that were hashed."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.config import Config
from holdfast.dispatch.calls import Caller, plugin_manager
from holdfast.events import parse
from holdfast.files import trust
from holdfast.plugins import discovery, loader, strict_memory
from holdfast.plugins.context import Context
from holdfast.plugins.discovery import HandlerFile
from holdfast.plugins.markers import hookimpl
from holdfast.plugins.scan import Route
from holdfast.sessions.workspace import Workspace

HANDLER = "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event): ...\n"
GUARD = 'from holdfast import hookimpl\n@hookimpl(match="Bash", strict=True)\ndef on_pre_tool_use(event): ...\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's root; the shipped handlers' folder is an empty one of the test's own."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    (tmp_path / "project" / ".claude" / "handlers").mkdir(parents=True)
    return tmp_path / "project"


def write(folder: Path, name: str, text: str | bytes = HANDLER) -> Path:
    """Write a handler file into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return path


def find(root: Path) -> list[HandlerFile]:
    """Find the handler files as the engine does."""
    return discovery.find(claude, Workspace.open(root, trusted=trust.config_trusted(root)))


@given(st.lists(st.sampled_from([(False, False), (True, False), (False, True)]), min_size=1, max_size=7))
@settings(derandomize=True, database=None, deadline=None, max_examples=150)
def test_the_order_is_pluggys_own(options: list[tuple[bool, bool]]) -> None:
    """With tryfirst and trylast the planned order and the calling order are those of a real pluggy call."""
    manager = plugin_manager("on_stop", claude.EVENTS["Stop"])
    for index, (first, last) in reversed(list(enumerate(options))):
        manager.register(plugin(index, first, last))
    real = manager.hook.on_stop(event=None, context=None, options=None, state=None)

    plan = loader.plan(claude, [file(index, *flags) for index, flags in enumerate(options)], "Stop", None)
    event = parse({"hook_event_name": "Stop", "session_id": "s"})
    nowhere = Workspace(Path("/nowhere"), Config(), client=claude)
    with Caller(claude, Context(nowhere, {}), lambda call: 5.0) as caller:
        called = [caller.call(call, event).label for call in plan]

    assert [call.file.name for call in plan] == real
    assert called == [f"user/{name}.py: on_stop" for name in real]


def plugin(index: int, first: bool, last: bool) -> object:
    """Return a pluggy plugin that answers with its name."""

    class Plugin:
        @hookimpl(tryfirst=first, trylast=last)
        def on_stop(self) -> Any:
            return f"h{index}"

    return Plugin()


def file(index: int, first: bool, last: bool) -> HandlerFile:
    """Return the same plugin as a handler file."""
    source = f"from holdfast import hookimpl\n@hookimpl(tryfirst={first}, trylast={last})\ndef on_stop(): ...\n"
    routes = (Route("Stop", "on_stop", tryfirst=first, trylast=last),)
    return HandlerFile("user", f"h{index}", Path("/nowhere") / f"h{index}.py", source.encode(), "", True, False, routes)


def test_what_everybody_is_offered_asks_nothing_of_this_machine(root: Path) -> None:
    """Neither trust nor configuration nor memory; a look leaves nothing behind."""
    folder = paths.project_handlers(root)
    write(folder, "guard.py", GUARD)
    write(folder, "off.py", "OFF_BY_DEFAULT = True\n" + HANDLER)
    write(folder, "bad.py", "def broken(:\n")
    (folder / "closed.py").mkdir()
    write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["guard"]\n')

    files = {file.name: file for file in discovery.offered(claude, "project", folder)}

    assert [name for name, file in files.items() if file.active and not file.faults] == ["guard"]
    assert [name for name, file in files.items() if file.faults] == ["bad", "closed"]
    assert strict_memory.recall(folder / "guard.py") == ()
