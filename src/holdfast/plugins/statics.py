"""Find the faults in a handler file's text that otherwise appear only when its functions run. Nothing is run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from holdfast.plugins import outcomes, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from holdfast.plugins.hooks import Hook, Hooks
    from holdfast.plugins.scan import Route

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_VALUES: tuple[tuple[tuple[type[ast.AST], ...], str], ...] = (
    ((ast.JoinedStr,), "str"),
    ((ast.Dict, ast.DictComp), "dict"),
    ((ast.Set, ast.SetComp), "set"),
    ((ast.GeneratorExp,), "generator"),
    ((ast.Compare,), "bool"),
)


def faults(source: bytes, routes: Sequence[Route], hooks: Hooks) -> list[str]:
    """Return the faults of a handler file's functions, in sentences with their line.

    These are a generator, a returned value that is no outcome, an outcome that the event doesn't accept, an `event`
    annotated as another event, and options without their class. What a function calls elsewhere isn't followed.

    Args:
        source: the file's bytes.
        routes: what `scan` found in them.
        hooks: the client's hooks.
    """
    tree = scan.parsed(source)
    if tree is None:
        return []
    kinds = frozenset(kind for hook in hooks.EVENTS.values() for kind in hook.accepts)  # each is its function's name
    makers = _makers(tree, kinds)
    has_options = "Options" in scan.top_level(tree)
    own = {route.function: route for route in routes if hooks.HOOK_NAMES.get(route.function) == route.event}
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (route := own.get(node.name)):
            hook = hooks.EVENTS[route.event]
            problems = {*_signature(node, route.event, hooks), *_body(node, hook, makers, background=route.background)}
            if not has_options and "options" in {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}:
                problems.add((node.lineno, "takes options, but the file has no class Options"))
            found += [f"line {line}: {node.name} {text}" for line, text in sorted(problems)]
    return found


def option_names(source: bytes) -> list[str]:
    """Return the fields of a Python handler's class `Options`, as far as its text shows them."""
    tree = scan.parsed(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Options"] if tree else []
    fields = [each for node in classes for each in node.body]
    return [each.target.id for each in fields if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]


def _makers(tree: ast.Module, kinds: Set[str]) -> dict[str, str]:
    """Return expression → kind of outcome, for all names under which a file imports `holdfast` or functions of it."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "holdfast":
                    found |= {f"{alias.asname or alias.name}.{kind}": kind for kind in kinds}
        elif isinstance(node, ast.ImportFrom) and node.module == "holdfast":
            for alias in node.names:
                if alias.name == "*":
                    found |= {kind: kind for kind in kinds}
                elif alias.name in kinds:
                    found[alias.asname or alias.name] = alias.name
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {name: kind for name, kind in found.items() if name not in own}


def _signature(node: ast.FunctionDef, event: str, hooks: Hooks) -> Iterator[tuple[int, str]]:
    """Yield the events that the annotation of `event` names, unless this one is among them."""
    for argument in (*node.args.posonlyargs, *node.args.args):
        if argument.arg != "event" or argument.annotation is None:
            continue
        text = ast.unparse(argument.annotation)
        words = "".join(each if each.isalnum() or each == "_" else " " for each in text).split()
        named = [word for word in words if word in hooks.EVENTS]
        if named and event not in named:
            yield argument.lineno, f"annotates event as {' | '.join(named)}, but gets {event}"


def _body(
    node: ast.FunctionDef, hook: Hook, makers: Mapping[str, str], *, background: bool
) -> Iterator[tuple[int, str]]:
    accepts = hook.accepts | {"block"} if "defer" in hook.accepts else hook.accepts  # to block a call is to deny it
    for part in _inside(node.body):
        if isinstance(part, (ast.Yield, ast.YieldFrom)):
            yield part.lineno, "is a generator, because it has a yield; return a list of outcomes instead"
        elif isinstance(part, ast.Return) and part.value is not None:
            for line, kind in _returned(part.value):
                yield line, f"returns {kind}; a handler returns None, an outcome such as advise(…), or a list of them"
        elif isinstance(part, ast.Call) and (answered := makers.get(ast.unparse(part.func))):
            if reason := hook.drops.get(answered):
                yield part.lineno, f"answers {answered}(), which is dropped on {hook.event}: {reason}"
                continue
            try:
                outcomes.check(outcomes.Outcome(answered), hook.event, accepts, background=background)
            except outcomes.OutcomeError as error:
                yield part.lineno, f"answers with an outcome that can't be used: {error}"


def _inside(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield all parts of a function, without those of functions and classes inside it."""
    left: list[ast.AST] = list(body)
    while left:
        part = left.pop()
        yield part
        if not isinstance(part, _SCOPES):
            left += ast.iter_child_nodes(part)


def _returned(value: ast.expr) -> Iterator[tuple[int, str]]:
    """Yield the type of each value that an expression may return and that is certainly no outcome."""
    if isinstance(value, ast.IfExp):
        parts: list[ast.expr] = [value.body, value.orelse]
    elif isinstance(value, (ast.List, ast.Tuple)):
        parts = value.elts
    elif isinstance(value, ast.BoolOp):
        parts = value.values
    else:
        parts = []
    for part in parts:
        yield from _returned(part)
    if isinstance(value, ast.Constant) and value.value is not None:
        yield value.lineno, type(value.value).__name__
    elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        yield value.lineno, "bool"
    else:
        yield from ((value.lineno, kind) for kinds, kind in _VALUES if isinstance(value, kinds))
