"""Read a handler file's routes from its text, without running any of it."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from holdfast.errors import did_you_mean
from holdfast.plugins.deadlines import longest_timeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.plugins.hooks import Hooks

ARGUMENTS = ("event", "context", "options", "state")
_OPTIONS: dict[str, tuple[type, ...]] = {
    "match": (str, type(None)),
    "timeout": (int, float, type(None)),
    "strict": (bool,),
    "tryfirst": (bool,),
    "trylast": (bool,),
    "on_failure": (str,),
    "once": (str, type(None)),
    "background": (bool,),
    "examples": (dict,),
}


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WRITE = "handlers are found without running the file, so write the function at its top level, once"

OnFailure = Literal["skip", "ask", "deny"]
Once = Literal["turn", "session"]
EVERY = "on_event"
"""The function that answers every event, but those on which a handler does the client's own work (`Hook.replaces`)."""
_OF_EVERY = frozenset({"timeout", "tryfirst", "trylast"})
_CHOICES: dict[str, tuple[str, ...]] = {"on_failure": get_args(OnFailure), "once": get_args(Once)}
Conditions = tuple[tuple[str, tuple[str, ...]], ...]
"""Keys of the configuration, each with its allowed values."""


@dataclass(frozen=True, slots=True)
class Route:
    """One function of a handler file, with its event and options.

    Attributes:
        event: the event's name, `PreToolUse`.
        function: the function's name, `on_pre_tool_use`.
        match: its matcher, or `None` for every value.
        timeout: seconds, or `None` for the configured default.
        strict: whether its failure becomes a refusal.
        tryfirst: run before the others.
        trylast: run after the others.
        on_failure: what its own failure becomes where it isn't strict: nothing, a question to the user, or a refusal.
        once: the turn or session in which it answers only once; it is called until it has answered.
        background: whether it runs in the background, so the client doesn't wait for its answer.
        examples: text → what it answers (`testkit.examples`).
        line: its line number in the file.
        broken: for a strict function that the file had earlier: why it can't be called now; empty if it can.
    """

    event: str
    function: str
    match: str | None = None
    timeout: float | None = None
    strict: bool = False
    tryfirst: bool = False
    trylast: bool = False
    on_failure: OnFailure = "skip"
    once: Once | None = None
    background: bool = False
    examples: Mapping[str, Any] = field(default_factory=dict, hash=False)
    line: int = 0
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a handler file's text declares.

    Attributes:
        routes: the functions that can be called.
        faults: what is wrong, by function name; the key `""` is for the whole file.
        off_by_default: whether the file has the line `OFF_BY_DEFAULT = True`.
        runs_when: the configuration that the file needs to run, from its line `RUNS_WHEN = {…}`.
        doubts: what its author probably didn't mean, in sentences; only for information.
        helpers: the files in its folder that it imports, by name: `_name.py` for `from . import _name`.
    """

    routes: tuple[Route, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    off_by_default: bool = False
    runs_when: Conditions = ()
    doubts: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()


UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What parsing a file may raise."""


class Fault(Exception):
    """Something in a handler file that makes one of its handlers unusable."""


def scan(source: bytes, hooks: Hooks) -> Scan:
    """Read the routes of a handler file.

    Args:
        source: the file's bytes.
        hooks: the client's hooks, which it may answer.

    Returns:
        Its routes and its faults. A file that isn't Python has no routes and one fault.
    """
    try:
        tree = ast.parse(source)
    except UNREADABLE as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Scan(faults={"": f"{where}cannot be read as Python ({_reason(error)})"})
    found: list[Route] = []
    faults: dict[str, str] = {}
    bound = top_level(tree)
    for name, nodes in bound.items():
        try:
            if name in hooks.HOOK_NAMES or any(map(_marker, nodes)):
                found += _route(_function(nodes), hooks)
        except Fault as fault:
            first = next((each for each in nodes if isinstance(each, _FUNCTIONS)), nodes[0])
            faults[name] = f"line {first.lineno}: {name} {fault}"
    for node in ast.walk(tree):
        if not isinstance(node, _FUNCTIONS) or node in tree.body or not _marker(node):
            continue
        key = node.name if node.name not in bound else f"line {node.lineno}: {node.name}"
        faults[key] = f"line {node.lineno}: {node.name} isn't at the top level, so it never runs; {_WRITE}"
    try:
        conditions = _conditions(tree.body)
    except Fault as fault:
        return Scan(faults=faults | {"": str(fault)})
    off = [node for node in tree.body if getattr(_assigned(node, "OFF_BY_DEFAULT"), "value", False) is True]
    return Scan(tuple(found), faults, bool(off), conditions, tuple(_doubts(found, hooks)), tuple(_helpers(tree)))


def scan_helper(source: bytes) -> Scan:
    """Return which helpers a helper file itself imports; nothing else in it counts."""
    tree = parsed(source)
    return Scan(helpers=tuple(_helpers(tree))) if tree else Scan()


def parsed(source: bytes) -> ast.Module | None:
    """Return the tree of a Python file; None if it can't be read, which `scan` or loading it says."""
    try:
        return ast.parse(source)
    except UNREADABLE:
        return None


def _helpers(tree: ast.Module) -> list[str]:
    """Return the names of the files that `from . import _name` and `from ._name import …` import."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
    names = [[node.module] if node.module else [alias.name for alias in node.names] for node in imports]
    return sorted({f"{name.partition('.')[0]}.py" for found in names for name in found})


def top_level(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """Return the names that statements of a module bind, each with these statements; not those inside of others.

    What binds a name in another way is found when the file is loaded: then its function isn't a marked one.
    """
    bound: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _bound(node):
            bound.setdefault(name, []).append(node)
    return bound


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return []
    return [each.id for each in _targets(node) if isinstance(each, ast.Name)]


def _function(nodes: Sequence[ast.stmt]) -> _Function:
    """Return the function that binds a name. Raises Fault unless there is one, and nothing binds the name after it."""
    functions = [each for each in nodes if isinstance(each, _FUNCTIONS)]
    if len(functions) > 1:
        lines = " and ".join(str(each.lineno) for each in functions)
        raise Fault(
            f"is defined in lines {lines}, and Python would keep only the last one; make them one function, or move one"
            " to a file of its own"
        )
    last = nodes[-1]
    if not isinstance(last, _FUNCTIONS):
        raise Fault(f"is bound by line {last.lineno}, not by a function, so it never runs; {_WRITE}")
    return last


def _doubts(found: Sequence[Route], hooks: Hooks) -> Iterator[str]:
    """Yield a sentence for each matcher that probably doesn't select what its author wants."""
    for route in found:
        own = hooks.HOOK_NAMES.get(route.function) == route.event  # say it once for both events of a function
        if own and route.match is not None and (doubt := hooks.doubt(route.match, route.event)):
            yield f"line {route.line}: {route.function}: {doubt}"


def _reason(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"


def _route(node: _Function, hooks: Hooks) -> list[Route]:
    marker = _marker(node)
    if marker is None:
        raise Fault("is named like a handler but has no @hookimpl, so it never runs")
    event = hooks.HOOK_NAMES.get(node.name)
    if event is None and node.name != EVERY:
        raise Fault(f"isn't the name of an event{did_you_mean(node.name, hooks.HOOK_NAMES)}")
    if isinstance(node, ast.AsyncFunctionDef):
        raise Fault("is async; a handler is a plain function")
    _check_arguments(node)
    options = _options(marker)
    if options.get("strict") and not any(map(_acts, ast.walk(node))):
        raise Fault("is strict but returns nothing, so it lets everything pass; it may have been cut short")
    if event:
        return routes(event, options, node.lineno, hooks)
    if not options.keys() <= _OF_EVERY:
        raise Fault(f"answers every event, so it has no options but {', '.join(sorted(_OF_EVERY))}")
    events = [name for name, hook in hooks.EVENTS.items() if not hook.replaces]
    found = [each for name in events for each in routes(name, options, node.lineno, hooks) if each.event == name]
    return [replace(each, function=EVERY) for each in found]


def routes(event: object, options: Mapping[str, Any], line: int, hooks: Hooks) -> list[Route]:
    """Return the routes of a handler; two if its matcher also selects another event.

    Args:
        event: the event that it answers.
        options: its options (`hookimpl`), each of its type.
        line: where it is declared.
        hooks: the client's hooks.

    Raises:
        Fault: there is no such event or option, or a value is of no use.
    """
    if not isinstance(event, str) or event not in hooks.EVENTS:
        hint = did_you_mean(str(event), hooks.EVENTS)
        raise Fault(f"event={event} isn't an event{hint}" if event else "names no event, such as event=PreToolUse")
    for name in options:
        if name not in _OPTIONS:
            raise Fault(f"there is no option {name!r}; there are {', '.join(_OPTIONS)}")
    _check_examples(options.get("examples"))
    if options.get("strict") and event not in hooks.STRICT_EVENTS:
        raise Fault(f"strict is not possible on {event}, only on {', '.join(sorted(hooks.STRICT_EVENTS))}")
    for name, choices in _CHOICES.items():
        if (value := options.get(name)) is not None and value not in choices:
            raise Fault(f"{name}={value!r} isn't one of {', '.join(choices)}")
    if options.get("strict") and options.get("once"):
        raise Fault("strict and once exclude each other: after its first answer it would let everything pass")
    accepts = hooks.EVENTS[event].accepts
    refusals = {"ask": {"ask"}, "deny": {"deny", "block"}}
    if (failure := options.get("on_failure")) in refusals and not refusals[failure] & accepts:
        raise Fault(f"on_failure={failure!r} is not possible on {event}, where a handler can't {failure}")
    if options.get("background"):
        if reason := hooks.EVENTS[event].waits:
            raise Fault(f"background is not possible on {event}: {reason}")
        if named := [name for name in ("strict", "on_failure") if options.get(name) not in (None, False, "skip")]:
            raise Fault(f"background and {named[0]} exclude each other: nobody waits for it, so it can't refuse")
    if (timeout := options.get("timeout")) is not None and timeout <= 0:
        raise Fault("timeout must be more than 0 seconds")
    longest = longest_timeout(hooks.EVENTS[event])
    if (timeout := options.get("timeout")) and timeout > longest:
        raise Fault(f"timeout={timeout!r} is more than {event} allows: at most {longest:g} seconds")
    if options.get("tryfirst") and options.get("trylast"):
        raise Fault("cannot be first and last: choose tryfirst or trylast")
    if options.get("match") is not None and (reason := hooks.never(options["match"], event)):
        raise Fault(f"never runs: {reason}")
    if not hooks.valid(options.get("match"), event):
        raise Fault(f"match={options['match']!r} is neither a list of names nor a regular expression of Claude Code's")
    function = hooks.EVENTS[event].specification.__name__
    events = filter(None, (event, hooks.also_answers(event, options.get("match"))))
    return [Route(event=each, function=function, line=line, **options) for each in events]


def _check_examples(value: Any) -> None:
    """Raise Fault unless a value is `{text: kind of outcome, None or a table}`; `holdfast handlers test` runs them."""
    try:
        json.dumps(value, allow_nan=False)  # the index keeps it as JSON
        items = (value or {}).items()
        fits = all(isinstance(key, str) and isinstance(each, (str, dict, type(None))) for key, each in items)
    except (TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise Fault('examples is a table from texts to outcomes, such as {"cat .env": "deny", "ls": None}')


def _acts(node: ast.AST) -> bool:
    """Return whether a part of a function returns a value, may raise, or shows that it does nothing on purpose."""
    if isinstance(node, ast.Expr):
        return not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))  # no docstring
    if isinstance(node, ast.Return):
        return node.value is not None
    return isinstance(node, ast.Raise | ast.Assert | ast.Pass)


def _marker(node: ast.AST) -> ast.expr | None:
    """Return the decorator that marks a function as a handler, or None."""
    for each in node.decorator_list if isinstance(node, _FUNCTIONS) else ():
        target = each.func if isinstance(each, ast.Call) else each
        if "hookimpl" in (getattr(target, "attr", ""), getattr(target, "id", "")):
            return each
    return None


def _check_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    named = node.args
    if named.vararg or named.kwarg or named.kwonlyargs or named.defaults:
        raise Fault(f"takes only arguments among {', '.join(ARGUMENTS)}, without defaults")
    for argument in (*named.posonlyargs, *named.args):
        if argument.arg not in ARGUMENTS:
            raise Fault(f"asks for {argument.arg!r}; a handler may ask for {', '.join(ARGUMENTS)}")


def _options(marker: ast.expr) -> dict[str, Any]:
    if not isinstance(marker, ast.Call):
        return {}
    if marker.args:
        raise Fault("hookimpl takes its options by name")
    if not all(keyword.arg for keyword in marker.keywords):
        raise Fault("hookimpl's options must be written out, they are read without running the file")
    return {str(keyword.arg): _literal(keyword) for keyword in marker.keywords}


def _literal(keyword: ast.keyword) -> Any:
    kinds = _OPTIONS.get(str(keyword.arg))
    if kinds is None:
        raise Fault(f"hookimpl has no option {keyword.arg!r}; it has {', '.join(_OPTIONS)}")
    try:
        value = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Fault(f"{keyword.arg} must be a literal, it is read without running the file") from None
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Fault(f"{keyword.arg}={value!r} has the wrong type")
    return value


def _conditions(body: Sequence[ast.stmt]) -> Conditions:
    """Read the module-level line `RUNS_WHEN = {"key": ["value", …]}`."""
    for node in body:
        literal = _assigned(node, "RUNS_WHEN")
        if literal is None:
            continue
        try:
            value = ast.literal_eval(literal)
            return tuple((str(key), tuple(str(each) for each in _listed(values))) for key, values in value.items())
        except (ValueError, TypeError, AttributeError, SyntaxError, MemoryError, RecursionError):
            raise Fault(
                f"line {node.lineno}: RUNS_WHEN must be a literal such as {{'reading': ['hold']}}; it is read without"
                " running the file"
            ) from None
    return ()


def _listed(values: Any) -> Sequence[Any]:
    if not isinstance(values, (list, tuple)):
        raise TypeError
    return values


def _assigned(node: ast.stmt, name: str) -> ast.expr | None:
    """Return the value that a statement assigns to a name, or None if it assigns none."""
    named = any(isinstance(target, ast.Name) and target.id == name for target in _targets(node))
    return getattr(node, "value", None) if named else None


def _targets(node: ast.stmt) -> list[ast.expr]:
    """Return what a statement assigns to."""
    return [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
