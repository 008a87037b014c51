"""Who hears of a handler that fails, and how often."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.events import EVENTS, snake
from tests.api.author import handler
from tests.commandline import holdfast

if TYPE_CHECKING:
    from tests.api.author import Author, Authors
    from tests.processes import Place

TOLD = {
    # what a handler does: what the user is told of it
    "1 / 0": "on_pre_tool_use raised ZeroDivisionError: division by zero",
    "time.sleep(600)": "took longer than its 0.2 s",
    "os._exit(3)": "ended its process (exit code 3)",
    "return title('x')": "title() is not accepted on PreToolUse",
    "print('hello')": "on_pre_tool_use printed text, which nobody sees; use context.log()",
    "raise ValueError('token=abcd1234efgh\\n\\x1b[2J')": "ValueError: token=[redacted]",
}


def bash(place: Place, **changes: Any) -> str:
    """Fire the event before a Bash call and return what the user is told."""
    ended = place.fire(place.payload("PreToolUse-Bash", **changes))
    assert (ended.exit_code, ended.stderr, ended.specific) == (0, "", {})
    return str(ended.reply.get("systemMessage", ""))


@pytest.mark.slow
def test_the_user_hears_of_each_fault_once_in_a_session(place: Place) -> None:
    """Which handler, what it did and where to look; in the next session again; no secret, no control character."""
    wrong = []
    for body, words in TOLD.items():
        place.user_handler("bad", handler(body, options="timeout=0.2" * ("sleep" in body)))
        said = [bash(place), bash(place), bash(place, session_id="another")]
        first = said[0]
        right = first.startswith("Holdfast: user/bad.py: on_pre_tool_use ") and words in first
        right = right and first.endswith("\nMore: holdfast handlers check") and first.replace("\n", "").isprintable()
        if not right or said != [first, "", first] or "abcd1234efgh" in place.log() + first:
            wrong.append(f"{body}: {said}")
    assert not wrong, "\n".join(wrong)


def test_each_fault_is_told_with_the_first_event_that_can_tell_it(place: Place) -> None:
    """One handler's after another's; after an edit again; a file that breaks; and none twice."""
    place.user_handler("a", handler("1 / 0"))
    place.user_handler("early", handler("1 / 0", "pre_compact"))
    place.user_handler("second", handler("1 / 0", "notification"))
    assert "user/a.py" in bash(place)
    assert place.fire(place.payload("PreCompact-auto")).stdout == ""
    assert place.fire(place.payload("Notification-permission_prompt")).stdout == ""
    assert "user/early.py: on_pre_compact raised" not in bash(place, session_id="another")
    said = bash(place)
    assert "user/early.py: on_pre_compact raised" in said and "user/a.py" not in said
    assert "user/second.py: on_notification raised" in said
    assert said.endswith("\nMore: holdfast handlers check")
    assert bash(place) == ""  # of neither
    place.user_handler("a", handler("[][0]"))
    place.user_handler("b", handler("{}[0]"))
    place.user_handler("broken", "def on_stop(:\n")
    said = bash(place)
    assert "user/a.py: on_pre_tool_use raised IndexError" in said
    assert "user/b.py: on_pre_tool_use raised KeyError" in said
    assert "user/broken.py: line 1: cannot be read" in said
    assert bash(place) == ""


def test_many_faults_make_no_long_message(place: Place) -> None:
    """Five are named and the others counted; what is logged of each is short, too."""
    for number in range(8):
        place.user_handler(f"bad{number}", handler("raise ValueError('x' * 50_000)"))
    said = bash(place)
    assert "Holdfast: 3 more messages" in said
    assert len(said) < 6_000
    assert len(place.log()) < 80_000


def test_where_nothing_can_be_kept_the_user_hears_of_a_fault_again(place: Place) -> None:
    """A message too many is better than none."""
    place.write(place.home / ".local" / "state" / "holdfast", "in the way")
    place.user_handler("bad", handler("1 / 0"))
    assert "bad.py" in bash(place) and "bad.py" in bash(place)


@pytest.mark.slow
def test_what_is_off_or_untrusted_is_at_no_fault(place: Place) -> None:
    """It may be broken: nothing is logged or told."""
    place.user_handler("mine", "OFF_BY_DEFAULT = True\ndef on_stop(:\n")
    place.project_handler("ours", "def on_stop(:\n")
    place.user_handler("good", handler("return None"))
    off = place.user_handler("off", "def on_stop(:\n")
    config = place.home / ".config/holdfast/holdfast.toml"
    config.write_text(config.read_text().replace("off = [", 'off = ["off", ', 1))
    assert off.exists()
    said = bash(place)
    assert [name for name in ("ours", "off") if f"{name}.py" in said + place.log()] == []


def checked(made: Author, code: int = 1) -> str:
    """Return what `handlers check` says."""
    return holdfast("handlers", "check", root=made.root, code=code).out


def test_check_names_the_latest_fault_with_its_count_until_the_file_is_changed(
    author: Authors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the log has them. Before the file was changed it was another one."""
    made = author({"a": handler("raise KeyError('x')", "stop"), "b": handler("return None", "stop")})
    now = clock.now()
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(now + timedelta(hours=1)))
    made.fire("Stop")
    assert "Stop: raised KeyError: 'x' (line 7) (once, last at" in checked(made)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(now + timedelta(hours=2)))
    made.fire("Stop")
    assert f"(2 times, last at {clock.minute(clock.stamp())})" in checked(made)
    assert "b.py" not in checked(made)
    made.mine(a=handler("raise KeyError('y')", "stop"))
    later = (now + timedelta(hours=3)).timestamp()
    os.utime(made.home / ".config/holdfast/handlers/a.py", (later, later))
    assert "KeyError" not in checked(made, 0)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(now + timedelta(hours=4)))
    made.fire("Stop")
    assert "KeyError: 'y' (line 7) (once," in checked(made)


@pytest.mark.slow
def test_faults_of_events_at_once_are_all_counted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four events that fail at the same moment none is lost; after a fifth, the handler is left out."""
    place.user_handler("bad", handler("1 / 0"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: bash(place, session_id=f"s{number}"), range(4)))
    for name, value in place.environ().items():
        if name.startswith(("HOME", "XDG")):
            monkeypatch.setenv(name, value)
    assert "(4 times," in holdfast("handlers", "check", root=place.root, code=1).out
    assert "left out for 10 minutes" in bash(place)


def test_the_log_names_each_fault_on_every_event(author: Authors, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest with event, handler, what it did, and the session. Nothing else is said of it there."""
    made = author({"a": "\n".join(handler("1 / 0", snake(event)) for event in EVENTS)})
    wrong = []
    for number, event in enumerate(EVENTS):
        monkeypatch.setenv(
            "HOLDFAST_NOW", f"2026-01-01T{number // 2:02}:{number % 2 * 30:02}:00Z"
        )  # it rests meanwhile
        fired = made.fire(event, tool_name="Bash", tool_input={}, prompt="p", task_id="1")
        line = f"error {event}: user/a.py: on_{snake(event)} raised ZeroDivisionError"
        last = [one for one in made.log().splitlines() if line in one]
        if fired.stdout or fired.exit_code or len(last) != 1 or f"session={made.session}" not in last[0]:
            wrong.append(f"{event}: {fired}, {last}")
    assert not wrong, "\n".join(wrong)
