"""A handler's two arguments: the event as the client sent it, and the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.api.author import handler

if TYPE_CHECKING:
    from tests.api.author import Authors
    from tests.processes import Place


def test_the_context_gives_project_configuration_and_environment(author: Authors) -> None:
    """Root and configuration are the project's, not those of the payload's folder; the handler is named."""
    say = "return advise(f'{context.handler} {context.root} {context.config.format} {context.environ[\"CLAUDECODE\"]}')"
    made = author({"a": handler(say)})
    made.write({".claude/holdfast.toml": 'format = "hybrid"\n'})
    assert made.bash(cwd="/elsewhere").context == f"a.py {made.root} hybrid 1"


def test_a_printed_context_does_not_show_the_environment(author: Authors) -> None:
    """The environment holds secrets, and handlers print and log what they get."""
    made = author({"a": handler("return advise(f'{context} {context.environ[\"CLAUDECODE\"]}')")})

    shown = made.bash().context
    assert "handler='a.py'" in shown and shown.endswith(" 1")
    assert "CLAUDECODE" not in shown


def test_a_handler_writes_to_the_log_under_its_name(author: Authors) -> None:
    """A line has the handler's file name, its level and the fields, without secrets."""
    made = author({"a": handler("context.log('seen', level='warning', count=3, token='abcd1234efgh')")})
    made.bash().assert_silent()
    (line,) = [line for line in made.log().splitlines() if "seen" in line]
    assert " warning " in line and "a.py" in line and "count=3" in line
    assert "abcd1234efgh" not in line


def test_a_field_that_no_model_knows_is_passed_on_and_null_is_absence(author: Authors) -> None:
    """The event is the client's own; a newer one may send more."""
    made = author({"a": handler("return advise(f'{event.permission_mode} {event.brand_new} {event.agent_id}')")})
    assert made.bash(permission_mode=None, agent_id=None, effort=None, brand_new=[1]).context == "None [1] None"


def test_each_handler_has_its_surroundings(place: Place) -> None:
    """Folder, environment and umask are put back between calls, and stdin is empty."""
    spoil = "os.environ['SPOILT'] = '1'; os.chdir('/'); os.umask(0)"
    says = handler("mask = os.umask(0)\nreturn advise(f'{os.getcwd()} {os.environ.get(\"SPOILT\")} {mask:o}')")
    place.user_handler("a", says.replace("def note", f"{spoil}\ndef note"))  # while its file is loaded
    place.user_handler("b", handler(spoil))
    place.user_handler("c", says)
    place.user_handler("d", handler("return advise(repr(sys.stdin.read()))"))
    first, second, stdin = place.fire(place.payload("PreToolUse-Bash")).advice.split("\n\n")
    folder, spoilt, mask = first.split(" ")
    assert (folder, spoilt) == (str(place.root), "None") and mask != "0"
    assert (second, stdin) == (first, "''")
