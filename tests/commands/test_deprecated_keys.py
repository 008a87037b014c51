"""Keys of `--json` have one name; an earlier one is printed beside it for this release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from tests.commandline import holdfast
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path


def test_commands_print_both(tmp_path: Path) -> None:
    """Rows of workflows, events of the log, explanations and handlers; what a person keeps stays as it is."""
    (tmp_path / ".claude").mkdir()
    context = ("--set", "paused=1", "--set", "reason=x", "--set", 'agents=[{"status": 1, "last_message": 2}]')
    started = holdfast("start", "Alpha", "--phase", "One", *context, "--json", root=tmp_path, session=ME).json
    (listed,) = holdfast("list", "--json", root=tmp_path).json
    status = holdfast("status", "--json", root=tmp_path).json
    shown = holdfast("show", "--json", root=tmp_path).json
    for row in (started, listed, shown, *status["workflows"]):
        assert row["paused"] is row["resting"] is False
    assert shown["context"] == {"paused": 1, "reason": "x", "agents": [{"status": 1, "last_message": 2}]}
    assert shown["last_save"]["reason"] == shown["last_save"]["why"] == "start"
    assert shown["todo_recipients"] == shown["todos_told"] == []
    (prospect,) = holdfast("explain", "--json", root=tmp_path).json["prospects"]
    assert (prospect["how"], prospect["why"]) == (prospect["restored"], prospect["reason"])
    kept = [each["data"] for each in holdfast("log", "--json", root=tmp_path).json if each["kind"] == "generation"]
    assert [each["why"] for each in kept] == [each["reason"] for each in kept] == ["start"]
    resumed = holdfast("resume", "--json", root=tmp_path, session=ME).json
    assert resumed["before"] is resumed["previous_owner"] is None
    paths.user_handlers().mkdir(parents=True)
    (paths.user_handlers() / "empty.py").write_text("X = 1\n")
    handlers = holdfast("handlers", "list", "--json", root=tmp_path).json
    assert all(row["idle"] == row["inactive_reason"] for rows in handlers["events"].values() for row in rows)
    (empty,) = (each for each in handlers["no_event"] if each["file"].endswith("empty.py"))
    assert empty["why"] == empty["reason"] == "answers no event, because none of its functions is marked with @hookimpl"
