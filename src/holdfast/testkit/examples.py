"""Run the examples that handlers declare (`hookimpl`'s option `examples`), each in a process of its own.

An example is a text and what the function answers to it: the kind of an outcome, or None or "" for silence. The text is
the command or path of the first tool in `match`, or the event's own text. A table instead of the kind has the kind
under `answer`, and more fields of the event or of the tool's input:

    {"git push -f": "deny", "git status": None, ".env": {"tool_name": "Read", "answer": "deny"}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.clients.claude import claude
from holdfast.errors import EventError, did_you_mean
from holdfast.testkit import firing, payloads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.scan import Route
    from holdfast.project import OpenProject

ANSWER = "answer"
"""The key of an example's table that names the kind of outcome."""


class Result(NamedTuple):
    """How an example came out.

    Attributes:
        file: the handler file.
        route: the function.
        text: the example's text.
        expected: the kind of outcome; empty for silence.
        actual: what the function answered, in words.
        passed: whether that is as expected.
    """

    file: HandlerFile
    route: Route
    text: str
    expected: str
    actual: str
    passed: bool


def declared(file: HandlerFile) -> list[tuple[Route, str, str, Mapping[str, Any]]]:
    """Return a file's examples: function, text, expected kind (empty for silence) and more fields."""
    found: list[tuple[Route, str, str, Mapping[str, Any]]] = []
    for route in file.routes:
        if claude.HOOK_NAMES.get(route.function) == route.event:  # one function may answer two events
            for text, value in route.examples.items():
                table = dict(value) if isinstance(value, dict) else {ANSWER: value}
                found.append((route, text, str(table.pop(ANSWER, None) or ""), table))
    return found


def run(file: HandlerFile, project: OpenProject) -> Iterator[Result]:
    """Yield the result of each of a file's examples; they call no other handler.

    Args:
        file: the handler file.
        project: the project that the events fire in.
    """
    for route, text, expected, fields in declared(file):
        accepts = claude.EVENTS[route.event].accepts
        if expected and expected not in accepts:
            hint = did_you_mean(expected, sorted(accepts), else_all=True)
            actual, passed = f"no such outcome on {route.event}{hint}", False
        else:
            actual, passed = _answered(file, route, text, expected, fields, project)
        yield Result(file, route, text, expected, actual, passed)


def _answered(
    file: HandlerFile, route: Route, text: str, expected: str, fields: Mapping[str, Any], project: OpenProject
) -> tuple[str, bool]:
    """Return a function's answer, in words, and whether it is as expected."""
    try:
        made = payloads.of_example(route, text, fields, firing.SESSION, project.root)
        fired = firing.send(project, made.payload, [file])
    except EventError as error:
        return f"an example that can't be fired: {error}", False
    if not fired.plan:
        return f"no call, because match={route.match!r} doesn't select it", False
    kinds = {outcome.kind for answer in fired.answers for outcome in answer.outcomes}
    passed = not fired.faults and (expected in kinds if expected else not kinds)
    return fired.words, passed
