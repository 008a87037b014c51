"""Reading a handler file's routes from its text, without running any of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.deadlines import longest_timeout
from holdfast.events import HOOK_NAMES
from holdfast.matching import valid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STRICT_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion"})
ARGUMENTS = ("event", "context")
_OPTIONS: dict[str, tuple[type, ...]] = {
    "match": (str, type(None)),
    "timeout": (int, float, type(None)),
    "strict": (bool,),
    "tryfirst": (bool,),
    "trylast": (bool,),
}


Conditions = tuple[tuple[str, tuple[str, ...]], ...]
"""Keys of the configuration, each with the values one of which it must have."""


@dataclass(frozen=True, slots=True)
class Route:
    """One function of a handler file and the events it wants.

    Attributes:
        event: the event's name, `PreToolUse`.
        function: the function's name, `on_pre_tool_use`.
        match: its matcher, or `None` for all.
        timeout: seconds, or `None` for the configured default.
        strict: whether its failure is a refusal.
        tryfirst: run before the others.
        trylast: run after the others.
        line: where it stands in the file.
        broken: why it cannot be called although its file once promised it; empty when it can.
    """

    event: str
    function: str
    match: str | None = None
    timeout: float | None = None
    strict: bool = False
    tryfirst: bool = False
    trylast: bool = False
    line: int = 0
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a handler file's text says.

    Attributes:
        routes: the functions that can be called.
        faults: what is wrong, by function name; under `""` what is wrong with the whole file.
        off_by_default: the file has the line `OFF_BY_DEFAULT = True`.
        runs_when: keys of the configuration with the values that let the file run, from its line `RUNS_WHEN = {…}`.
    """

    routes: tuple[Route, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    off_by_default: bool = False
    runs_when: Conditions = ()


class _Fault(Exception):
    """Something in a handler file that keeps one function from being used."""


def scan(source: bytes) -> Scan:
    """Read the routes of a handler file.

    Args:
        source: the file's bytes.

    Returns:
        Its routes and its faults. A file that is not Python has no routes and one fault.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Scan(faults={"": f"{where}cannot be read as Python ({_reason(error)})"})
    routes: dict[str, Route] = {}
    faults: dict[str, str] = {}
    # Of two functions of one name Python keeps the last.
    functions = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for name, node in functions.items():
        try:
            routes |= {route.function: route for route in _route(node)}
        except _Fault as fault:
            faults[name] = f"line {node.lineno}: {name} {fault}"
    try:
        conditions = _conditions(tree.body)
    except _Fault as fault:
        return Scan(faults=faults | {"": str(fault)})
    return Scan(tuple(routes.values()), faults, any(_switches_off(node) for node in tree.body), conditions)


def _reason(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"


def _route(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Route]:
    marker = next((found for found in node.decorator_list if _is_marker(found)), None)
    if marker is None:
        if node.name in HOOK_NAMES:
            raise _Fault("is named like a handler but has no @hookimpl, so it never runs")
        return []
    event = HOOK_NAMES.get(node.name)
    if event is None:
        from difflib import get_close_matches

        near = get_close_matches(node.name, HOOK_NAMES, n=1)
        raise _Fault("is no event's name" + (f"; did you mean {near[0]}" if near else ""))
    if isinstance(node, ast.AsyncFunctionDef):
        raise _Fault("is async; a handler is a plain function")
    _check_arguments(node)
    options = _options(marker)
    if options.get("strict") and event not in STRICT_EVENTS:
        raise _Fault(f"strict is not possible on {event}, only on {', '.join(sorted(STRICT_EVENTS))}")
    if (asked := options.get("timeout")) and asked > longest_timeout(event):
        raise _Fault(f"timeout={asked!r} is more than {event} allows: at most {longest_timeout(event):g} seconds")
    if options.get("tryfirst") and options.get("trylast"):
        raise _Fault("cannot be first and last: choose tryfirst or trylast")
    if not valid(options.get("match"), event):
        raise _Fault(f"match={options['match']!r} is neither a list of names nor a regular expression of the client's")
    return [Route(event=event, function=node.name, line=node.lineno, **options)]


def _is_marker(node: ast.expr) -> bool:
    target = node.func if isinstance(node, ast.Call) else node
    name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    return name == "hookimpl"


def _check_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    named = node.args
    if named.vararg or named.kwarg or named.kwonlyargs or named.defaults:
        raise _Fault("takes only the arguments it names, among event and context, without defaults")
    for argument in (*named.posonlyargs, *named.args):
        if argument.arg not in ARGUMENTS:
            raise _Fault(f"asks for {argument.arg!r}; a handler may ask for event and context")


def _options(marker: ast.expr) -> dict[str, Any]:
    if not isinstance(marker, ast.Call):
        return {}
    if marker.args:
        raise _Fault("hookimpl takes its options by name")
    return {keyword.arg: _literal(keyword) for keyword in marker.keywords if keyword.arg} | _no_unpacking(marker)


def _no_unpacking(marker: ast.Call) -> dict[str, Any]:
    if any(keyword.arg is None for keyword in marker.keywords):
        raise _Fault("hookimpl's options must be written out, they are read without running the file")
    return {}


def _literal(keyword: ast.keyword) -> Any:
    kinds = _OPTIONS.get(str(keyword.arg))
    if kinds is None:
        raise _Fault(f"hookimpl has no option {keyword.arg!r}; it has {', '.join(_OPTIONS)}")
    try:
        value = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _Fault(f"{keyword.arg} must be a literal, it is read without running the file") from None
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise _Fault(f"{keyword.arg}={value!r} has the wrong type")
    if keyword.arg == "timeout" and isinstance(value, (int, float)) and value <= 0:
        raise _Fault("timeout must be more than 0 seconds")
    return value


def _switches_off(node: ast.stmt) -> bool:
    """Recognise the module-level line `OFF_BY_DEFAULT = True`."""
    value = _assigned(node, "OFF_BY_DEFAULT")
    return isinstance(value, ast.Constant) and value.value is True


def _conditions(body: Sequence[ast.stmt]) -> Conditions:
    """Read the module-level line `RUNS_WHEN = {"key": ["value", …]}`."""
    for node in body:
        given = _assigned(node, "RUNS_WHEN")
        if given is None:
            continue
        try:
            value = ast.literal_eval(given)
            return tuple((str(key), tuple(str(each) for each in _listed(values))) for key, values in value.items())
        except (ValueError, TypeError, AttributeError, SyntaxError, MemoryError, RecursionError):
            raise _Fault(
                f"line {node.lineno}: RUNS_WHEN must be a literal such as {{'reading': ['hold']}}; it is read without"
                " running the file"
            ) from None
    return ()


def _listed(values: Any) -> Sequence[Any]:
    if not isinstance(values, (list, tuple)):
        raise TypeError
    return values


def _assigned(node: ast.stmt, name: str) -> ast.expr | None:
    """Return what a statement assigns to a name, if it does."""
    if isinstance(node, ast.AnnAssign):
        targets: list[ast.expr] = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    else:
        return None
    named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return node.value if named else None
