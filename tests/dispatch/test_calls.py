"""Handlers are called one after another in this process, and a bad one doesn't affect the others."""

from __future__ import annotations

import math
import signal
import threading
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import advise, block, deny, log
from holdfast.clients import claude
from holdfast.config import Config
from holdfast.dispatch import calls
from holdfast.dispatch.calls import Answer, Caller, HandlerTimeout, describe, interrupted_after
from holdfast.events import parse, snake
from holdfast.plugins import outcomes
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route, scan
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.events import Event

HEAD = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event, context):\n"


@pytest.fixture(autouse=True)
def no_alarm_is_left() -> Iterator[None]:
    """Whatever a test does, no timer and no handler of ours stays armed behind it."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL)[1] != calls.REPEAT_S
    assert signal.getsignal(signal.SIGALRM) is before


def handler(name: str, text: str, **options: Any) -> Call:
    """Return a planned call of a user's handler; a bare body is put into a function for PreToolUse."""
    source = (text if "def on_" in text else HEAD + "    " + text.replace("\n", "\n    ") + "\n").encode()
    path = Path("/nowhere") / f"{name}.py"
    file = HandlerFile("user", name, path, source, "", True, False)
    return Call(file, Route("PreToolUse", "on_pre_tool_use", **options))


FIRED: dict[str, tuple[dict[str, Any], str, str]] = {
    # event: (its own fields, what a first handler answers, what the second one sees of it)
    "PostToolUse": (
        {"tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": "key hunter2"}},
        "change_output({'stdout': event.tool_response['stdout'].replace('hunter2', '***')})",
        "{'stdout': 'key ***'}",
    ),
    "MessageDisplay": ({"delta": "key hunter2"}, "display(event.delta.replace('hunter2', '***'))", "'key ***'"),
    "SessionStart": ({"source": "startup", "session_title": "old"}, "title('new')", "'new'"),
    "UserPromptSubmit": ({"prompt": "x", "session_title": "old"}, "title('new')", "'new'"),
    "Elicitation": ({}, "answer('accept', {'name': 'x'})", "('accept', {'name': 'x'})"),
    "ElicitationResult": (
        {"action": "accept", "content": {"name": "y"}},
        "answer('accept', {**event.content, 'age': 3})",
        "('accept', {'name': 'y', 'age': 3})",
    ),
}
SEEN = {
    "PostToolUse": "event.tool_response",
    "MessageDisplay": "event.delta",
    "Elicitation": "(event.action, event.content)",
    "ElicitationResult": "(event.action, event.content)",
}


@pytest.mark.parametrize("name", FIRED)
def test_every_replaced_value_is_seen_by_the_next_handler(name: str) -> None:
    """Outputs, displays, titles and forms compose as inputs do: a secret that one handler masks stays masked."""
    fields, first, seen = FIRED[name]
    function = f"on_{snake(name)}"
    head = f"from holdfast import *\n@hookimpl\ndef {function}(event, context):\n    "
    bodies = {"a": f"return {first}", "b": f"context.log(repr({SEEN.get(name, 'event.session_title')}))"}
    plan = []
    for stem, body in bodies.items():
        file = HandlerFile("user", stem, Path("/nowhere") / f"{stem}.py", (head + body).encode(), "", True, False)
        plan.append(Call(file, Route(name, function)))
    fired = parse({"hook_event_name": name, "session_id": "s"} | fields)

    answers = list(
        Caller(claude, fired, Context(Workspace(Path("/nowhere"), Config()), {}), lambda call: 5.0).answers(plan)
    )

    assert [answer.fault for answer in answers] == ["", ""]
    assert seen in log.tail(1)[0]


@pytest.mark.parametrize("output", [{}, [], 0])
def test_an_output_that_was_emptied_is_seen_as_it_is(output: Any) -> None:
    """No text stands in the place of what is false to Python."""
    fired = parse({"hook_event_name": "PostToolUse", "session_id": "s"} | FIRED["PostToolUse"][0])

    changed = claude.changed(fired, [outcomes.change_output(output)])

    assert changed.model_dump()["tool_response"] == output


def event(**tool_input: Any) -> Event:
    """Return a tool call that is about to be made."""
    return parse({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": tool_input})


def call_all(*plan: Call, seconds: float = 5.0, **tool_input: Any) -> list[Answer]:
    """Run a plan in this process."""
    context = Context(Workspace(Path("/nowhere"), Config()), {})
    return list(Caller(claude, event(**tool_input), context, lambda call: seconds).answers(list(plan)))


def fault(text: str, **options: Any) -> str:
    """Return the fault of one bad handler, having seen that a good one before and after it answered."""
    answers = call_all(
        handler("a", "return advise('a')"), handler("b", text), handler("c", "return ask('c')"), **options
    )
    by_label = {answer.label[5]: answer for answer in answers}
    assert [outcome.kind for outcome in by_label["a"].outcomes + by_label["c"].outcomes] == ["advise", "ask"]
    assert by_label["b"].outcomes == ()
    return by_label["b"].fault


def test_an_empty_plan_calls_nobody() -> None:
    """Nothing to call is no answer."""
    assert call_all() == []


def test_a_manager_that_was_kept_ready_serves_one_event() -> None:
    """Handlers of an earlier event are not registered with it when the next one comes."""
    calls.keep_managers(["on_pre_tool_use"])
    given = [[answer.fault for answer in call_all(handler(name, "return advise('x')"))] for name in ("a", "a", "b")]

    assert given == [[""], [""], [""]]


def test_answers_come_in_plan_order() -> None:
    """Each call answers once, in order; no opinion is an answer without outcomes."""
    answers = call_all(
        handler("b", "return advise('1')"), handler("a", "return None"), handler("c", "return [ask('2'), None]")
    )

    assert [answer.label for answer in answers] == [f"user/{name}.py: on_pre_tool_use" for name in "bac"]
    assert [[outcome.text for outcome in answer.outcomes] for answer in answers] == [["1"], [], ["2"]]
    assert not any(answer.fault for answer in answers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0", "raised ZeroDivisionError: division by zero (line 4)"),
        ("x = 1\nraise ValueError", "raised ValueError (line 5)"),
        ("raise SystemExit(3)", "raised SystemExit: 3 (line 4)"),
        ("import sys; sys.exit('bye')", "raised SystemExit: bye"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("raise GeneratorExit", "raised GeneratorExit"),
        ("raise BaseException('all')", "raised BaseException: all"),
        ("def deep(): deep()\ndeep()", "raised RecursionError"),
        ("return 'text'", "returned str; a handler returns None, an outcome such as advise"),
        ("return {'decision': 'block'}", "returned dict"),
        ("return True", "returned bool"),
        ("return [advise('x'), 5]", "returned int"),
        ("return advise", "returned function"),
        ("yield advise('x')", "returned generator"),
        ("return instruct_summary('x')", "instruct_summary() is not accepted on PreToolUse"),
        ("return [advise('good'), force_turn('bad')]", "force_turn() is not accepted on PreToolUse"),
        ("return advise('')", "advise() takes a text that says something"),
        ("return deny(None)", "deny() takes a string, not NoneType"),
        ("return change_input({'a': object()})", "change_input() takes JSON values only"),
        ("return Outcome('nonsense')", "nonsense() is not accepted on PreToolUse"),
        ("return Outcome([])", "raised TypeError"),
        ("return Outcome('change_input', value=float('nan'))", "raised ValueError"),
        ("return event.nothing_like_that", "raised AttributeError"),
        ("event.tool_name = 'Read'", "raised ValidationError"),
    ],
)
def test_a_handler_that_fails_is_named_with_what_it_did(text: str, words: str) -> None:
    """Raising anything, saying what is not accepted, returning nonsense: the fault is a sentence, the others answer."""
    assert words in fault(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def on_pre_tool_use(:", "does not load: raised SyntaxError"),
        ("import nothing_like_that\ndef on_pre_tool_use(): ...", "does not load: raised ModuleNotFoundError"),
        ("raise SystemExit\ndef on_pre_tool_use(): ...", "does not load: raised SystemExit (line 1)"),
        ("def on_pre_tool_use(): ...", "is not marked with holdfast's hookimpl"),
        ("from holdfast import *\n@hookimpl\ndef on_pre_tool_use(extra): ...", "does not load: raised PluginValid"),
        ("x = 1 # def on_", "does not load: raised AttributeError"),
        (HEAD + "    ...\ndel on_pre_tool_use", "does not load: raised AttributeError"),
        (HEAD + "    ...\non_pre_tool_use = 5", "is not marked with holdfast's hookimpl"),
    ],
)
def test_a_file_that_does_not_load_is_named(text: str, words: str) -> None:
    """A syntax error, a missing module, wrong arguments: the fault says so, the others answer."""
    assert words in fault(text)


def test_a_bad_function_for_another_event_costs_nothing() -> None:
    """Of a file only the function for this event is offered to pluggy."""
    text = HEAD + "    return advise('x')\n@hookimpl\ndef on_stop(nonsense): ...\n"

    assert [answer.fault for answer in call_all(handler("a", text))] == [""]


def test_a_broken_route_is_a_fault_without_running_the_file() -> None:
    """What the loader already knows to be broken is not even compiled."""
    (answer,) = call_all(handler("a", "def on_(:", strict=True, broken="line 1: cannot be read"))

    assert answer == Answer("user/a.py: on_pre_tool_use", (), "was not called: line 1: cannot be read")


def test_a_handler_gets_only_what_it_names() -> None:
    """event and context may each be left out, in any order."""
    text = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use({}):\n    return advise(repr(sorted(locals())))\n"
    plan = [handler(str(n), text.format(named)) for n, named in enumerate(["", "context", "context, event"])]

    assert [answer.outcomes[0].text for answer in call_all(*plan)] == ["[]", "['context']", "['context', 'event']"]


def test_the_context_names_the_handler_and_gives_the_project() -> None:
    """The context knows which file runs, the project's root, its configuration and the environment."""
    say = "return advise(f'{context.handler} {context.root} {context.config.format} {dict(context.environ)}')"

    (answer,) = call_all(handler("a", say))

    assert answer.outcomes[0].text == "a.py /nowhere compaction {}"


def test_a_changed_input_is_seen_by_the_next_handler_only_as_said() -> None:
    """change_input composes; what a handler does to its own copy of the event reaches nobody."""
    answers = call_all(
        handler("a", "event.tool_input['command'] = 'stolen'"),
        handler("b", "return change_input({'command': event.tool_input['command'] + ' -l'})"),
        handler("c", "return change_input({'command': event.tool_input['command'] + ' -a'})"),
        handler("d", "return advise(event.tool_input['command'])"),
        command="ls",
    )

    assert [answer.fault for answer in answers] == [""] * 4
    assert answers[2].outcomes[0].value == {"command": "ls -l -a"}
    assert answers[3].outcomes[0].text == "ls -l -a"


def test_a_rejected_answer_changes_nothing() -> None:
    """A handler whose answer is at fault is at fault as a whole: its changed input is not seen either."""
    answers = call_all(
        handler("a", "return [change_input({'command': 'rm'}), force_turn('x')]"),
        handler("b", "return advise(event.tool_input['command'])"),
        command="ls",
    )

    assert answers[0].outcomes == ()
    assert answers[1].outcomes[0].text == "ls"


def test_begin_is_told_before_each_file_and_each_call() -> None:
    """Whoever watches knows which handler to blame when the process dies, while loading as while running."""
    begun: list[str] = []
    plan = [handler("a", "return None"), handler("b", "return None")]
    caller = Caller(claude, event(), Context(Workspace(Path("/nowhere"), Config()), {}), lambda call: 5.0, begun.append)

    for answer in caller.answers(plan):
        assert begun[-1] == answer.label
    assert sorted(begun) == sorted([call.label for call in plan] * 2)


@pytest.mark.parametrize(
    "text",
    [
        "import time; time.sleep(60)",
        "while True: pass",
        "try:\n    while True: pass\nexcept Exception: pass",
        "import threading; threading.Event().wait(60)",
        "import subprocess; subprocess.run(['sleep', '60'])",
        "import select; select.select([], [], [], 60)",
    ],
)
def test_a_handler_that_takes_too_long_is_interrupted(text: str) -> None:
    """The limit interrupts Python code and waiting calls, past `except Exception`; the others answer."""
    assert fault(text, seconds=0.1) == "took longer than its 0.1 s and was interrupted"


def test_a_file_that_loads_too_long_is_interrupted() -> None:
    """The limit holds for running the file itself, too."""
    text = "import time\ntime.sleep(60)\ndef on_pre_tool_use(): ..."

    assert fault(text, seconds=0.1) == "does not load: took longer than its 0.1 s and was interrupted"


def test_the_interrupt_comes_again_when_it_is_swallowed() -> None:
    """One `except BaseException` does not make a handler immune."""
    text = "import time\nfor _ in range(3):\n    try: time.sleep(60)\n    except BaseException: pass\ntime.sleep(60)"

    assert "took longer" in fault(text, seconds=0.1)


def test_a_limit_that_is_not_reached_leaves_no_trace() -> None:
    """A block that ends in time is not interrupted afterwards."""
    with interrupted_after(600):
        assert signal.getitimer(signal.ITIMER_REAL)[1] == calls.REPEAT_S
    # `no_alarm_is_left` looks for it afterwards


def test_an_interrupt_that_comes_while_it_is_called_off_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that ends in the very moment its time is up: the timer is stopped all the same."""
    set_timer, late = signal.setitimer, [HandlerTimeout()]

    def ringing(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if not seconds and late:
            raise late.pop()
        return set_timer(which, seconds, interval)

    monkeypatch.setattr(signal, "setitimer", ringing)
    with interrupted_after(600):
        pass
    assert not late  # and `no_alarm_is_left`


def test_without_a_limit_another_timer_goes_on() -> None:
    """A test runner may have one of its own."""
    timer = signal.setitimer(signal.ITIMER_REAL, 600)
    try:
        with interrupted_after(math.inf):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)


def test_outside_the_main_thread_nothing_is_interrupted() -> None:
    """Signals reach only the main thread, so elsewhere a block simply runs."""
    done: list[bool] = []

    def work() -> None:
        with interrupted_after(0.01):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_overtime_is_no_exception() -> None:
    """A handler's `except Exception` cannot swallow it."""
    assert not issubclass(HandlerTimeout, Exception)


def test_the_line_is_the_handlers_own() -> None:
    """The line named is the deepest one in a handler's file, not in a library it calls."""
    text = dedent(
        """
        from holdfast import *
        import json
        def helper():
            json.loads("{")
        @hookimpl
        def on_pre_tool_use():
            helper()
        """
    )
    assert scan(text.encode(), claude).routes
    assert fault(text).endswith("(line 5)")


def test_an_error_without_words_or_place_is_still_named() -> None:
    """The type is enough where there is nothing else."""
    assert describe(ValueError(), 1) == "raised ValueError"


def test_to_block_a_tool_call_is_to_deny_it(tmp_path: Path) -> None:
    """The client's own older word (client fact §1.3); on other events it stays what it is."""
    call, done = (parse(recorded.load(f"{name}-Bash")) for name in ("PreToolUse", "PostToolUse"))
    assert claude.as_said(call, call, [block("no"), advise("x")]) == ((deny("no"), advise("x")), ())
    assert claude.as_said(done, done, [block("no")]) == ((block("no"),), ())
