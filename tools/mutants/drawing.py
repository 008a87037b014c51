"""Drawing bugs: mutmut's operators on lines of the source, each line as likely as any other."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from tools.mutants.bug import Bug

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SOURCES = ("src/holdfast", "handlers", "hooks")
_PASSED_OVER = (libcst.Annotation, libcst.Decorator, libcst.Import, libcst.ImportFrom)
_TYPE_CHECKING = libcst.Name("TYPE_CHECKING")
_Change = tuple[int, libcst.CSTNode, libcst.CSTNode]  # first line, the node, what replaces it


def draw(root: Path, seed: int, count: int, below: tuple[str, ...] = ()) -> Iterator[Bug]:
    """Yield `count` bugs of the tree at `root`; the same tree and seed give the same bugs.

    With `below`, they are in files whose path in the tree begins with one of these. A line without anything to change
    (a docstring, an import, an annotation) is passed over.
    """
    texts = {
        str(file.relative_to(root)): file.read_text("utf-8")
        for top in _SOURCES
        for file in sorted((root / top).rglob("*.py"))
        if not below or str(file.relative_to(root)).startswith(below)
    }
    lines = [
        (name, number)
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    chance = random.Random(seed)
    chance.shuffle(lines)
    parsed: dict[str, tuple[libcst.Module, list[_Change]]] = {}
    drawn = 0
    for name, number in lines:
        if drawn == count:
            return
        if name not in parsed:
            parsed[name] = _changes(texts[name])
        module, changes = parsed[name]
        if not (here := [each for each in changes if each[0] == number]):
            continue
        _, old, new = chance.choice(here)
        text = libcst.ensure_type(module.deep_replace(old, new), libcst.Module).code
        if _compiles(text, name):
            drawn += 1
            yield Bug(f"d{drawn:03}", name, texts[name], text)


def _changes(text: str) -> tuple[libcst.Module, list[_Change]]:
    """Return a module and each change that an operator makes somewhere in it, in the order of the text."""
    wrapper = MetadataWrapper(libcst.parse_module(text))
    positions = wrapper.resolve(PositionProvider)
    changes: list[_Change] = []
    waiting: list[libcst.CSTNode] = [wrapper.module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _PASSED_OVER) or (isinstance(node, libcst.If) and node.test.deep_equals(_TYPE_CHECKING)):
            continue
        for kind, operator in mutation_operators:
            if isinstance(node, kind) and node in positions:
                changes.extend((positions[node].start.line, node, new) for new in operator(node))
        waiting.extend(reversed(node.children))
    return wrapper.module, changes


def _compiles(text: str, name: str) -> bool:
    """Whether Python takes a mutated text: an operator may leave `f(*a, )` where a value has to stand."""
    try:
        compile(text, name, "exec")
    except SyntaxError:
        return False
    return True
