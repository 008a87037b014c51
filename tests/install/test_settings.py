"""Holdfast's entries are added to and removed from a settings.json, and nothing else changes."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.events import EVENTS
from holdfast.install.register import Entry, command, group
from holdfast.install.settings import Settings
from tests.tables import each_row

WANTED = {"SessionStart": Entry(), "PreToolUse": Entry("Agent|Task"), "Stop": Entry()}
OTHER = {"type": "command", "command": "other.sh", "timeout": 5}
RULE = "Bash(holdfast:*)"


def registered(text: str | None, wanted: Mapping[str, Entry] = WANTED) -> Settings:
    edited = Settings(text)
    edited.register(wanted)
    return edited


def data(edited: Settings) -> Any:
    assert edited.text is not None
    return json.loads(edited.text.removeprefix("\ufeff"))


def entry(event: str) -> dict[str, Any]:
    return {"type": "command", "command": command(event)}


def test_a_time_limit_that_is_needed_is_set_once_and_stays() -> None:
    """As long as a handler needs or longer, wherever it stands in the entry; one that is shorter is raised."""
    short = json.dumps({"hooks": {"SessionEnd": [{"hooks": [{"timeout": 59, **entry("SessionEnd")}]}]}})
    for text, changes in ((short, 1), (short.replace("59", "60"), 0), (short.replace("59", "60.5"), 0)):
        edited = Settings(text)
        edited.register({"SessionEnd": Entry(None, 60)})
        assert len(edited.changes) == changes
        assert (edited.text == text) is (changes == 0)
        assert data(edited)["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] >= 60


def test_an_earlier_command_is_brought_up_to_date_where_it_stands() -> None:
    """An older command of ours is replaced in its place; a time limit somebody gave it stays."""
    old = {"type": "command", "command": 'exec "$HOME/.local/share/holdfast/run" Stop', "timeout": 9}
    edited = registered(json.dumps({"hooks": {"Stop": [{"hooks": [OTHER, old]}]}}), {"Stop": Entry()})
    assert data(edited) == {"hooks": {"Stop": [{"hooks": [OTHER, {**old, "command": command("Stop")}]}]}}
    assert edited.changes == ["Stop: command brought up to date"]


@each_row(
    "event, limit, left",
    [
        ("Stop", 5, True),
        ("Stop", 4, False),
        ("SessionEnd", 2, True),
        ("SessionEnd", 1.5, True),
        ("SessionEnd", 1, False),
    ],
)
def test_a_time_limit_stays_where_the_client_waits_no_longer_by_itself(event: str, limit: float, left: bool) -> None:
    """What is shorter than a handler's usual time goes, unless the event has no more time than that anyway."""
    text = json.dumps({"hooks": {event: [{"hooks": [{**entry(event), "timeout": limit}]}]}})
    edited = registered(text, {event: Entry()})
    assert (edited.text == text, "timeout" in str(edited.text)) == (left, left)


@each_row("old, new", [("Bash", "Agent|Task"), (None, "Agent|Task"), ("Bash", None), ("*", "Agent|Task")])
def test_a_changed_matcher_is_changed_in_place(old: str | None, new: str | None) -> None:
    """A group of ours alone keeps its place and gets the new matcher."""
    text = json.dumps({"hooks": {"PreToolUse": [group("PreToolUse", Entry(old)), {"matcher": "x", "hooks": [OTHER]}]}})
    edited = registered(text, {"PreToolUse": Entry(new)})
    assert data(edited)["hooks"]["PreToolUse"] == [
        group("PreToolUse", Entry(new)),
        {"matcher": "x", "hooks": [OTHER]},
    ]
    assert len(edited.changes) == 1


def test_a_matcher_shared_with_others_is_not_changed() -> None:
    """In a group that also holds somebody else's hook, ours leaves instead of changing the group's matcher."""
    shared = {"matcher": "Bash", "hooks": [entry("PreToolUse"), OTHER]}
    edited = registered(json.dumps({"hooks": {"PreToolUse": [shared]}}), {"PreToolUse": Entry("Task")})
    assert data(edited)["hooks"]["PreToolUse"] == [
        {"matcher": "Bash", "hooks": [OTHER]},
        group("PreToolUse", Entry("Task")),
    ]


def test_doubled_entries_become_one() -> None:
    """However often we are registered for an event, once is left."""
    groups = [group("Stop", Entry()), {"hooks": [OTHER, entry("Stop"), entry("Stop")]}, group("Stop", Entry())]
    edited = registered(json.dumps({"hooks": {"Stop": groups}}), {"Stop": Entry()})
    assert data(edited)["hooks"]["Stop"] == [group("Stop", Entry()), {"hooks": [OTHER]}]
    assert edited.changes == ["Stop: registered once instead of 4 times"]


def test_a_group_with_keys_of_somebody_elses_is_not_removed() -> None:
    """Removing our entry leaves a group that carries more than a matcher."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [entry("Stop")], "note": "keep"}]}})
    edited = Settings(text)
    edited.restore_later(None, [])
    edited.register({})
    assert data(edited) == {"hooks": {"Stop": [{"hooks": [], "note": "keep"}]}}


def taken_out(text: str | None, containers: Mapping[str, str | None] | None) -> Settings:
    """Take everything of Holdfast's out of a text."""
    edited = Settings(text)
    edited.restore_later(containers, [RULE])
    edited.disallow(RULE)
    edited.hide_status_line()
    edited.register({})
    return edited


@each_row(
    "text",
    [
        None,
        "",
        " \n",
        "\ufeff",
        "\ufeff\n",
        "{}",
        "{ }",
        "{\n}\n",
        '\ufeff{"hooks": {\n  }}\r\n',
        '{\n  "model": "x"\n}\n',
        '{"hooks":{}}',
        '{"hooks": { "Stop": [ ], "PreToolUse": [\n]}, "permissions": {\t"allow": [ ] }}',
        '{"hooks":{"Stop":[]},"permissions":{"deny":["Read(.env)"]}}',
        '{\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": []\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n',
        '{"permissions": {"allow": ["Bash(ls:*)"]}, "n": [1.0, 1e5, 123456789012345678901234567890, "\\u00e9\\/"]}',
    ],
)
def test_what_was_added_goes_again_and_nothing_else(text: str | None) -> None:
    """Registering, allowing and showing the status line, and then undoing that, gives back the identical text."""
    edited = registered(text)
    assert edited.allow(RULE)
    edited.show_status_line()
    data(edited)
    assert taken_out(edited.text, edited.containers).text == text


FOREIGN_HOOKS = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=5)})
FOREIGN_GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(FOREIGN_HOOKS, max_size=2)}, optional={"matcher": st.sampled_from(["", "Bash", "Task"])}
)
FOREIGN = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(st.sampled_from([*EVENTS, "Odd"]), st.lists(FOREIGN_GROUPS, max_size=2), max_size=4),
        "env": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    },
)
DEMAND = st.dictionaries(st.sampled_from(list(EVENTS)), st.sampled_from([None, "Bash", "Agent|Task"]), max_size=5)


@given(document=FOREIGN, first=DEMAND, second=DEMAND, indent=st.sampled_from([None, 2, "\t"]))
def test_any_settings_survive_any_install(
    document: dict[str, Any],
    first: dict[str, str | None],
    second: dict[str, str | None],
    indent: int | str | None,
) -> None:
    """After two different installs exactly the second's events are registered; taking us out restores the text."""
    text = json.dumps(document, indent=indent)
    before = registered(text, entries(first))
    edited = Settings(before.text)
    edited.restore_later(before.containers, [])
    edited.register(entries(second))
    assert set(edited.registered) == set(second)
    for event, groups in document.get("hooks", {}).items():
        assert data(edited)["hooks"][event][: len(groups)] == groups
    assert taken_out(edited.text, edited.containers).text == text


def entries(wanted: dict[str, str | None]) -> dict[str, Entry]:
    return {event: Entry(matcher) for event, matcher in wanted.items()}
