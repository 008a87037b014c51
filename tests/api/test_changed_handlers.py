"""Nothing goes quiet after an edit: changed handlers are reported, new ones registered, unused files named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from tests import warmth
from tests.commandline import holdfast
from tests.processes import Place

if TYPE_CHECKING:
    from tests.warmth import Warm

pytestmark = pytest.mark.usefixtures("no_client")

HANDLER = "from holdfast import *\n\n@hookimpl(match='Bash')\ndef on_pre_tool_use(event):\n    return None\n"
STOP = "from holdfast import *\n\n@hookimpl\ndef on_stop(event):\n    return None\n"


@pytest.mark.parametrize("strict", [True, False])
def test_a_trusted_handler_that_changed_is_reported_once_at_the_first_event_it_wants(
    tmp_path: Path, strict: bool
) -> None:
    """Once per session; a session's start that names it counts. Its events stay registered, or nobody would hear."""
    place = Place(Path.home(), tmp_path)
    text = HANDLER.replace("match='Bash'", "match='Bash', strict=True") if strict else HANDLER
    handler = place.project_handler("style", text)
    holdfast("handlers", "trust", "--yes", root=place.root)
    holdfast("install", root=place.root)

    def told(tool: str, session: str) -> str:
        payload = place.payload("PreToolUse-Bash", tool_name=tool, session_id=session)
        return str(place.fire(payload, "PreToolUse").reply.get("systemMessage", ""))

    assert told("Bash", "one") == ""
    handler.write_text("# to do\n")
    assert told("Read", "one") == ""
    said = told("Bash", "one")
    assert said.startswith("Holdfast: project/style.py")
    assert "was changed since you trusted it" in said
    assert f"holdfast handlers trust --project {place.root} style.py" in said
    assert told("Bash", "one") == ""
    started = place.payload("SessionStart-startup", session_id="two")
    assert "style.py was changed" in place.fire(started, "SessionStart").reply["systemMessage"]
    assert told("Bash", "two") == ""
    assert "style.py" in told("Bash", "three")
    assert "Bash" in str(matchers(place, "PreToolUse"))

    holdfast("handlers", "trust", "--yes", "style.py", root=place.root)
    assert told("Bash", "four") == ""


def matchers(place: Place, event: str) -> list[str | None]:
    """Return the matchers with which an event is registered in the user's settings."""
    settings = json.loads((place.home / ".claude/settings.json").read_text())
    return [group.get("matcher") for group in settings["hooks"].get(event, [])]


@pytest.mark.slow
@pytest.mark.parametrize("server", [None, "off"])
def test_any_event_registers_what_new_changed_and_removed_files_want(
    fresh: Warm, monkeypatch: pytest.MonkeyPatch, server: str | None
) -> None:
    """The user is told once, at a later event; a project's settings are its team's, so for them a command is named."""
    warmth.move_in(fresh, monkeypatch)
    holdfast("install", root=fresh.root)
    holdfast("install", "--scope", "project", root=fresh.root)

    def fire() -> str:
        ended = fresh.fire(fresh.call(), "PreToolUse", environ=fresh.environ(HOLDFAST_SERVER=server))
        return str(ended.reply.get("systemMessage", ""))

    if server is None:
        fresh.warm_up()
    after = HANDLER.replace("pre_tool_use", "post_tool_use")
    said = fire()
    mine = fresh.user_handler("mine", after)
    said += fire()
    fresh.until(lambda: matchers(fresh, "PostToolUse") == ["Bash"])
    mine.write_text(after.replace("Bash", "Edit"))
    said += fire()
    fresh.until(lambda: matchers(fresh, "PostToolUse") == ["Edit"])
    fresh.project_handler("team", after)
    mine.unlink()
    said += fire()
    fresh.until(lambda: matchers(fresh, "PostToolUse") == [])
    said += "".join(fire() for _ in range(3))

    for line in ("registered for Bash", "matcher changed to Edit", "no longer registered", "install --scope project"):
        assert said.count(line) == 1, (line, said)


def test_where_holdfast_is_not_registered_no_event_registers_it(tmp_path: Path) -> None:
    """Whoever removed the entries wanted that."""
    place = Place(Path.home(), tmp_path)
    settings = place.write(place.home / ".claude/settings.json", "{}")
    for name in ("first", "second"):
        place.user_handler(name, STOP)
        place.fire(place.payload("PreToolUse-Bash"), "PreToolUse")
    assert settings.read_text() == "{}"


def test_every_file_that_is_not_used_is_named_with_the_reason(tmp_path: Path) -> None:
    """By `list`, `check` and `doctor`; helpers, and what you switched off, are nothing for the doctor."""
    mine, theirs = paths.user_handlers(), paths.project_handlers(tmp_path)
    for folder in (mine, theirs):
        for name in ("notes.md", "_help.py", ".hidden.py", "more/deep.py", "__pycache__/x.pyc"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(STOP)
        (folder / "none.py").write_text("X = 1\n")
        (folder / "same.py").write_text(STOP)
    for name in ("quiet", "still"):
        (mine / f"{name}.py").write_text("OFF_BY_DEFAULT = True\n" * (name == "still") + STOP)
    holdfast("handlers", "off", "quiet", root=tmp_path)
    holdfast("handlers", "trust", "--yes", "same.py", root=tmp_path / ".claude/handlers", code=1)
    holdfast("handlers", "trust", "--yes", "none.py", "same.py", root=tmp_path)
    (theirs / "new.py").write_text(STOP)

    reasons = {
        **{folder / "notes.md": "its name doesn't end in .py" for folder in (mine, theirs)},
        **{folder / ".hidden.py": "hidden, because its name begins with a dot" for folder in (mine, theirs)},
        **{folder / "_help.py": "a helper file, because its name begins with _" for folder in (mine, theirs)},
        **{folder / "more": "a folder, and handlers in it don't run" for folder in (mine, theirs)},
        theirs / "none.py": "answers no event, because none of its functions is marked with @hookimpl",
        theirs / "new.py": "not trusted",
        mine / "none.py": f"replaced by {theirs / 'none.py'}",
        mine / "same.py": f"replaced by {theirs / 'same.py'}",
        mine / "quiet.py": "switched off",
        mine / "still.py": "switched off",
    }
    outputs = {verb: holdfast(*verb.split(), root=tmp_path).out for verb in ("handlers list", "handlers check")}
    outputs["doctor"] = holdfast("doctor", root=tmp_path, code=1).out
    found = [
        f"{verb}: {path}: {why}"
        for verb, out in outputs.items()
        for path, why in reasons.items()
        if any(f"{paths.shown(str(path))}" in line and paths.shown(why) in line for line in out.splitlines())
        is (verb == "doctor" and ("helper" in why or why == "switched off"))
    ]
    assert not found, "\n".join([*found, *outputs.values()])
    assert "__pycache__" not in "".join(outputs.values())
