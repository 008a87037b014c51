"""Read a handler file's routes from its text, without running any of it."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.plugins.deadlines import longest_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.plugins.hooks import Hooks

ARGUMENTS = ("event", "context")
"""What a handler's function may ask for, each by its name."""


class _Option(NamedTuple):
    """An option of `hookimpl`.

    Attributes:
        kinds: the types of its value.
        fault: says what is wrong with a value of such a type; empty if nothing is.
    """

    kinds: tuple[type, ...]
    fault: Callable[[Any], str] = lambda value: ""


def _no_time(seconds: float | None) -> str:
    return "timeout must be more than 0 seconds" if seconds is not None and seconds <= 0 else ""


def _no_examples(value: dict[Any, Any]) -> str:
    """Say why a value isn't `{text: kind of outcome, None or a table}`; whether it comes true is for a test to say."""
    try:
        json.dumps(value, allow_nan=False)  # the index keeps it as JSON
        fits = all(isinstance(key, str) and isinstance(each, (str, dict, type(None))) for key, each in value.items())
    except (TypeError, ValueError, RecursionError):
        fits = False
    return "" if fits else 'examples is a table from texts to outcomes, such as {"cat .env": "deny", "ls": None}'


_OPTIONS: dict[str, _Option] = {
    "match": _Option((str, type(None))),
    "timeout": _Option((int, float, type(None)), _no_time),
    "strict": _Option((bool,)),
    "tryfirst": _Option((bool,)),
    "trylast": _Option((bool,)),
    "examples": _Option((dict,), _no_examples),
}


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_COMPOUND: tuple[tuple[tuple[type[ast.AST], ...], str], ...] = (
    ((ast.If,), "an if"),
    ((ast.Try, ast.TryStar), "a try"),
    ((ast.For, ast.While, ast.AsyncFor), "a loop"),
    ((ast.With, ast.AsyncWith), "a with"),
    ((ast.Match,), "a match"),
)
_MOVE = "handlers are found without running the file, so move it to the top level"
_WRITE = "handlers are found without running the file, so write the function in it, once"

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
    """

    routes: tuple[Route, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    off_by_default: bool = False
    runs_when: Conditions = ()
    doubts: tuple[str, ...] = ()


class _Bound(NamedTuple):
    """A statement that binds or deletes a name of the module.

    Attributes:
        line: its line number.
        how: what it does, for a message.
        node: the function, if it defines one.
        inside: the statement around it, for a message; empty at the top level.
    """

    line: int
    how: str
    node: _Function | None
    inside: str


class _Fault(Exception):
    """Something in a handler file that makes one function unusable."""


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
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Scan(faults={"": f"{where}cannot be read as Python ({_reason(error)})"})
    routes: list[Route] = []
    faults: dict[str, str] = {}
    bound, hidden = _names(tree, hooks)
    for name, bindings in bound.items():
        try:
            routes += _routes(bindings, hooks)
        except _Fault as fault:
            first = next((each for each in bindings if each.node), bindings[0])
            faults[name] = f"line {first.line}: {name} {fault}"
    for owner, node in hidden:
        key = node.name if node.name not in bound else f"{owner}: {node.name}"
        faults[key] = f"line {node.lineno}: {node.name} stands inside {owner}, so it never runs; {_MOVE}"
    try:
        conditions = _conditions(tree.body)
    except _Fault as fault:
        return Scan(faults=faults | {"": str(fault)})
    off = any(_switches_off(node) for node in tree.body)
    return Scan(tuple(routes), faults, off, conditions, tuple(_doubts(routes, hooks)))


def _names(tree: ast.Module, hooks: Hooks) -> tuple[dict[str, list[_Bound]], list[tuple[str, _Function]]]:
    """Find the statements that bind handlers' names, and marked functions that pluggy would never find.

    Returns:
        Name → its bindings in the order of the text, for names of hooks and of functions marked with hookimpl; and the
        marked functions inside a class or another function, each with a description of what it is in.
    """
    bound: dict[str, list[_Bound]] = {}
    hidden: list[tuple[str, _Function]] = []
    left: list[tuple[ast.AST, str, str]] = [(node, "", "") for node in reversed(tree.body)]
    while left:
        node, inside, owner = left.pop()
        marked = isinstance(node, _FUNCTIONS) and any(map(_is_marker, node.decorator_list))
        if owner:
            if marked and isinstance(node, _FUNCTIONS):
                hidden.append((owner, node))
        else:
            for name, binding in _bindings(node, inside):
                bound.setdefault(name, []).append(binding)
        if isinstance(node, _SCOPES):
            owner = f"{'class' if isinstance(node, ast.ClassDef) else 'function'} {node.name}"
        elif isinstance(node, _COMPREHENSIONS) or (isinstance(node, ast.AnnAssign) and node.value is None):
            continue  # names in a comprehension are local to it; an annotation alone binds none
        inner = inside or next((words for kinds, words in _COMPOUND if isinstance(node, kinds)), "")
        left += [(child, inner, owner) for child in reversed(list(ast.iter_child_nodes(node)))]
    return {name: found for name, found in bound.items() if name in hooks.HOOK_NAMES or _any_marked(found)}, hidden


def _bindings(node: ast.AST, inside: str) -> Iterator[tuple[str, _Bound]]:
    """Yield the names that a node itself binds, without those that its child nodes bind."""
    if isinstance(node, _FUNCTIONS):
        yield node.name, _Bound(node.lineno, "defined", node, inside)
    elif isinstance(node, ast.ClassDef):
        yield node.name, _Bound(node.lineno, "defined as a class", None, inside)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], _Bound(node.lineno, "imported", None, inside)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
        yield node.id, _Bound(node.lineno, "deleted", None, inside)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, _Bound(node.lineno, "assigned", None, inside)
    elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
        yield node.name, _Bound(node.lineno, "assigned", None, inside)


def _any_marked(found: Sequence[_Bound]) -> bool:
    return any(each.node is not None and any(map(_is_marker, each.node.decorator_list)) for each in found)


def _routes(bindings: Sequence[_Bound], hooks: Hooks) -> list[Route]:
    """Return the route of a name. Raises _Fault unless the file binds it once, to a function at the top level."""
    functions = [each for each in bindings if each.node is not None]
    if not functions:
        raise _Fault(f"is {bindings[0].how}, so it never runs; {_WRITE}")
    if nested := next((each for each in functions if each.inside), None):
        raise _Fault(f"stands inside {nested.inside} in line {nested.line}, so it never runs; {_MOVE}")
    if len(functions) > 1:
        lines = " and ".join(str(each.line) for each in functions)
        raise _Fault(
            f"is defined in lines {lines}, and Python would keep only the last one; make them one function, or move one"
            " to a file of its own"
        )
    (function,) = functions
    if after := next((each for each in bindings[bindings.index(function) + 1 :]), None):
        raise _Fault(f"is {after.how} in line {after.line}, so the function never runs; {_WRITE}")
    return _route(function.node, hooks) if function.node else []


def _doubts(routes: Sequence[Route], hooks: Hooks) -> Iterator[str]:
    """Yield a sentence for each matcher that probably doesn't select what its author wants."""
    for route in routes:
        own = hooks.HOOK_NAMES[route.function] == route.event  # say it once for both events of a function
        if own and route.match is not None and (said := hooks.doubt(route.match, route.event)):
            yield f"line {route.line}: {route.function}: {said}"


def _reason(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"


def _route(node: ast.FunctionDef | ast.AsyncFunctionDef, hooks: Hooks) -> list[Route]:
    marker = next((found for found in node.decorator_list if _is_marker(found)), None)
    if marker is None:
        if node.name in hooks.HOOK_NAMES:
            raise _Fault("is named like a handler but has no @hookimpl, so it never runs")
        return []
    event = hooks.HOOK_NAMES.get(node.name)
    if event is None:
        near = get_close_matches(node.name, hooks.HOOK_NAMES, n=1)
        raise _Fault("isn't the name of an event" + (f"; did you mean {near[0]}?" if near else ""))
    if isinstance(node, ast.AsyncFunctionDef):
        raise _Fault("is async; a handler is a plain function")
    _check_arguments(node)
    options = _options(marker)
    if options.get("strict") and event not in hooks.STRICT_EVENTS:
        raise _Fault(f"strict is not possible on {event}, only on {', '.join(sorted(hooks.STRICT_EVENTS))}")
    if options.get("strict") and not any(map(_acts, ast.walk(node))):
        raise _Fault("is strict but returns nothing, so it lets everything pass; it may have been cut short")
    longest = longest_timeout(hooks.longest_limit_s(event))
    if (asked := options.get("timeout")) and asked > longest:
        raise _Fault(f"timeout={asked!r} is more than {event} allows: at most {longest:g} seconds")
    if options.get("tryfirst") and options.get("trylast"):
        raise _Fault("cannot be first and last: choose tryfirst or trylast")
    if options.get("match") is not None and (said := hooks.never(options["match"], event)):
        raise _Fault(f"never runs: {said}")
    if not hooks.valid(options.get("match"), event):
        raise _Fault(f"match={options['match']!r} is neither a list of names nor a regular expression of the client's")
    events = filter(None, (event, hooks.also_answers(event, options.get("match"))))
    return [Route(event=each, function=node.name, line=node.lineno, **options) for each in events]


def _acts(node: ast.AST) -> bool:
    """Return whether a part of a function returns a value, may raise, or shows that it does nothing on purpose."""
    if isinstance(node, ast.Expr):
        return not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))  # no docstring
    if isinstance(node, ast.Return):
        return node.value is not None
    return isinstance(node, ast.Raise | ast.Assert | ast.Pass)


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
            raise _Fault(f"asks for {argument.arg!r}; a handler may ask for {' and '.join(ARGUMENTS)}")


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
    option = _OPTIONS.get(str(keyword.arg))
    if option is None:
        raise _Fault(f"hookimpl has no option {keyword.arg!r}; it has {', '.join(_OPTIONS)}")
    try:
        value = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _Fault(f"{keyword.arg} must be a literal, it is read without running the file") from None
    if not isinstance(value, option.kinds) or (isinstance(value, bool) and bool not in option.kinds):
        raise _Fault(f"{keyword.arg}={value!r} has the wrong type")
    if fault := option.fault(value):
        raise _Fault(fault)
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
    """Return the value that a statement assigns to a name, or None if it assigns none."""
    if isinstance(node, ast.AnnAssign):
        targets: list[ast.expr] = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    else:
        return None
    named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return node.value if named else None
