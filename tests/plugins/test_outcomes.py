"""Which outcomes a handler may return, and on which events."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import holdfast
from holdfast import log
from holdfast.clients import claude
from holdfast.config import Config
from holdfast.dispatch.calls import Caller
from holdfast.dispatch.faults import note_answers
from holdfast.events import EVENTS, model, parse, snake
from holdfast.plugins import outcomes
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.outcomes import Outcome, OutcomeError
from holdfast.plugins.scan import Route
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.events import Event

# Every constructor, in use: the source text as a handler writes it.
EXAMPLES = {
    "advise": "advise('a fact', priority=2, must_keep=True)",
    "allow": "allow('fine', permissions=[{'type': 'setMode', 'mode': 'default', 'destination': 'session'}])",
    "answer": "answer('accept', {'name': 'x'})",
    "ask": "ask('sure?')",
    "block": "block('not yet')",
    "change_input": "change_input({'command': 'ls'})",
    "change_output": "change_output({'stdout': ''})",
    "classify": "classify('harmless')",
    "defer": "defer('later')",
    "deny": "deny('no', interrupt=True)",
    "display": "display('other words')",
    "environment": "environment({'NAME': 'value'}, path=['/opt/bin'])",
    "force_turn": "force_turn('go on')",
    "initial_message": "initial_message('hello')",
    "instruct_summary": "instruct_summary('keep the phase')",
    "reload_skills": "reload_skills()",
    "retry": "retry()",
    "stop": "stop('enough')",
    "suppress_prompt": "suppress_prompt()",
    "tell_user": "tell_user('note')",
    "terminal": "terminal('\\x07')",
    "title": "title('Name')",
    "watch": "watch(['/a', '/b'])",
    "worktree": "worktree('/tmp/tree')",
}


def example(kind: str) -> Outcome:
    """Return the example outcome of a kind."""
    made: Outcome = eval(EXAMPLES[kind], {name: getattr(outcomes, name) for name in EXAMPLES})
    return made


def an_event(name: str) -> Event:
    """Return an event: a recorded one, or for the few that were never recorded the smallest one."""
    names = [one for one in recorded.names() if one.partition("-")[0] == name]
    smallest = {"session_id": "s", "hook_event_name": name, "tool_name": "Bash", "tool_input": {}}
    return parse(recorded.load(names[0]) if names else smallest)


def constructors() -> set[str]:
    """Return the names of all public functions that make an outcome."""
    found = inspect.getmembers(outcomes, inspect.isfunction)
    return {
        name
        for name, function in found
        if name[0] != "_" and inspect.signature(function).return_annotation == "Outcome"
    }


def test_every_constructor_has_an_example_here_and_is_the_packages_own() -> None:
    """Each constructor is importable from `holdfast`, and a new one cannot be forgotten in these tests."""
    assert constructors() - {"from_wire"} == set(EXAMPLES)
    assert set(EXAMPLES) <= set(holdfast.__all__)
    assert all(getattr(holdfast, kind) is getattr(outcomes, kind) for kind in EXAMPLES)


def test_every_kind_is_accepted_somewhere_and_nothing_else_is() -> None:
    """The events' `accepts` name exactly the kinds that have constructors."""
    assert {kind for name in EVENTS for kind in model(name).accepts} == set(EXAMPLES)


@each_row("kind", EXAMPLES)
def test_a_constructor_makes_the_kind_of_its_name(kind: str) -> None:
    """The kind is the constructor's name, and the outcome survives the pipe between processes."""
    made = example(kind)

    assert made.kind == kind
    assert outcomes.from_wire(json.loads(json.dumps(outcomes.to_wire(made)))) == made


@each_row("name", EVENTS)
def test_an_outcome_the_event_rejects_is_the_handlers_fault_by_name(name: str, tmp_path: Path) -> None:
    """Of one handler per kind exactly the accepted ones answer; each other one is a fault that names its file."""
    event = an_event(name)
    function = f"on_{snake(name)}"
    plan = [handler(f"says_{kind}", function, name, f"return {expression}") for kind, expression in EXAMPLES.items()]
    caller = Caller(claude, event, Context(Workspace(tmp_path, Config()), {}), lambda call: 5.0)
    answers = list(caller.answers(plan))

    answered = {answer.label for answer in answers if answer.outcomes}
    denied = {"block"} if name in ("PreToolUse", "PreSkillShellCommand") else set()  # which is a denial there
    accepts = type(event).accepts | denied
    assert answered == {f"user/says_{kind}.py: {function}" for kind in accepts}
    faults = {answer.label: answer.fault for answer in answers if answer.fault}
    refused = set(EXAMPLES) - accepts - type(event).drops.keys()
    assert set(faults) == {f"user/says_{kind}.py: {function}" for kind in refused}
    note_answers(event, plan, answers)
    lines = "\n".join(log.tail(100))
    for kind in refused:
        assert f"{name}: user/says_{kind}.py: {function} {kind}() is not accepted on {name}" in lines
    assert lines.count(f"(accepted: {', '.join(sorted(type(event).accepts))})") == len(refused)


def handler(stem: str, function: str, event: str, body: str, **options: Any) -> Call:
    """Return a planned call of a user's handler that was never on disk."""
    source = f"from holdfast import *\n@hookimpl\ndef {function}(event, context):\n    {body}\n".encode()
    ast.parse(source)
    file = HandlerFile("user", stem, Path("/nowhere") / f"{stem}.py", source, "", True, False)
    return Call(file, Route(event=event, function=function, **options))


def test_the_hints_say_what_to_say_instead() -> None:
    """Advice where it would force another turn, and on PreCompact, is answered with the constructor to use."""
    for name in ("Stop", "SubagentStop"):
        with pytest.raises(OutcomeError, match="say force_turn"):
            outcomes.check(outcomes.advise("x"), name, model(name).accepts)
    for said in (outcomes.advise("x"), outcomes.tell_user("x")):
        with pytest.raises(OutcomeError, match="say instruct_summary"):
            outcomes.check(said, "PreCompact", model("PreCompact").accepts)
    for name in ("PreCompact", "PostCompact", "WorktreeCreate"):
        with pytest.raises(OutcomeError, match="whose output is plain text"):
            outcomes.check(outcomes.terminal("\a"), name, model(name).accepts)


@each_row(
    "sequence",
    ["\a", "\a\a", "\x1b]9;done\a", "\x1b]9;4;1;50\a", "\x1b]777;notify;a;b\x1b\\", "\x1b]0;title\a\x1b]99;;x\a"],
)
def test_a_sequence_that_the_client_lets_through(sequence: str) -> None:
    """BEL and the OSCs for titles and notifications, one or several."""
    assert outcomes.terminal(sequence).text == sequence


@each_row(
    "sequence",
    [
        *("hello", "\x1b[2J", "\x1b]52;c;eA==\a", "\x1b]9;5 done\a", "\x1b]0;open", "\a\n"),
        *(f"\x1b]0;{'x' * 4_096}\a", f"\x1b]0;{'ä' * 2_048}\a"),
    ],
)
def test_a_sequence_that_the_client_would_drop_is_the_handlers_error(sequence: str) -> None:
    """It drops the whole string, so one handler's bad sequence would take the others' along."""
    with pytest.raises(OutcomeError, match="the client would drop"):
        outcomes.terminal(sequence)


TEXTS: list[Callable[[Any], Outcome]] = [
    outcomes.advise,
    outcomes.force_turn,
    outcomes.instruct_summary,
    outcomes.deny,
    outcomes.ask,
    outcomes.block,
    outcomes.classify,
    outcomes.stop,
    outcomes.tell_user,
    outcomes.title,
    outcomes.initial_message,
    outcomes.terminal,
    outcomes.worktree,
]


@each_row("constructor", TEXTS)
@each_row("text", ["", "  \n\t ", None, 5, b"bytes", ["list"]])
def test_a_text_must_say_something(constructor: Callable[[Any], Outcome], text: object) -> None:
    """An empty text, or something that is no text, is refused where it is said."""
    with pytest.raises(OutcomeError, match="takes"):
        constructor(text)


@each_row("constructor", [outcomes.allow, outcomes.defer, outcomes.display])
def test_a_reason_may_be_empty_where_it_is_optional(constructor: Callable[[Any], Outcome]) -> None:
    """allow, defer and display take an empty text, but nothing else than text."""
    assert constructor("").text == ""
    with pytest.raises(OutcomeError, match="takes a string, not int"):
        constructor(5)


@each_row(
    "say",
    [
        lambda: outcomes.change_input({"a": object()}),
        lambda: outcomes.change_input({"a": float("nan")}),
        lambda: outcomes.change_input({"a": {1, 2}}),
        lambda: outcomes.change_input([("a", 1)]),  # type: ignore[arg-type]  # what a handler without types may say
        lambda: outcomes.change_output(None),
        lambda: outcomes.change_output(float("inf")),
        lambda: outcomes.allow(permissions=[object()]),  # type: ignore[list-item]  # the same
        lambda: outcomes.answer("accept", {"a": object()}),
        lambda: outcomes.answer("maybe"),  # type: ignore[arg-type]  # the same
        lambda: outcomes.environment({"1BAD": "x"}),
        lambda: outcomes.environment({"A B": "x"}),
        lambda: outcomes.environment({"A=B": "x"}),
        lambda: outcomes.environment({"Ä": "x"}),
        lambda: outcomes.environment({"A": 5}),  # type: ignore[dict-item]  # the same
        lambda: outcomes.environment({}, path="/one"),
        lambda: outcomes.environment({}, path=[""]),
        lambda: outcomes.watch("/one"),
        lambda: outcomes.watch([""]),
        lambda: outcomes.worktree("/a\n/b"),
        lambda: outcomes.advise("x", priority="high"),  # type: ignore[arg-type]  # the same
        lambda: outcomes.advise("x", on_delivered="no"),  # type: ignore[arg-type]  # the same
        lambda: Outcome("advise", None),  # type: ignore[arg-type]  # the same
    ],
)
def test_what_cannot_be_sent_is_refused_where_it_is_said(say: Callable[[], Outcome]) -> None:
    """A value the client or the merging could not take never leaves the handler that said it."""
    with pytest.raises(OutcomeError):
        say()


def test_a_changed_input_is_a_copy() -> None:
    """What a handler does with its own dictionary afterwards changes nothing."""
    value = {"command": "ls", "nested": [1]}
    made = outcomes.change_input(value)
    value["nested"].append(2)  # type: ignore[attr-defined]  # the list made above

    assert made.value == {"command": "ls", "nested": [1]}


def test_paths_may_be_path_objects() -> None:
    """watch, worktree and environment take pathlib's paths as well as texts."""
    assert outcomes.watch([Path("/a")]).value == ["/a"]
    assert outcomes.environment({}, path=[Path("/b")]).value == {"variables": {}, "path": ["/b"]}


@each_row("returned", [None, [], (), [None], ([None], (None,))])
def test_saying_nothing_has_many_forms(returned: object) -> None:
    """None, and lists that hold nothing else, are no opinion."""
    assert outcomes.flatten(returned) == ()


def test_lists_are_flattened_in_order() -> None:
    """A handler may return an outcome, or lists of them, nested as it likes."""
    first, second, third = outcomes.advise("1"), outcomes.deny("2"), outcomes.ask("3")

    assert outcomes.flatten(first) == (first,)
    assert outcomes.flatten([first, None, (second, [third])]) == (first, second, third)


@each_row("returned", ["text", 5, True, {"decision": "block"}, {"set"}, object(), iter([])])
def test_anything_else_is_an_error_with_its_type(returned: object) -> None:
    """Texts, numbers, dictionaries and the like are no outcome; the error names the type."""
    with pytest.raises(OutcomeError, match=f"returned {type(returned).__name__}"):
        outcomes.flatten(returned)
