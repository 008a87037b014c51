"""The house stands: imports point downward only, and the two wings meet nowhere below the handlers."""

from __future__ import annotations

import ast
import re
import sys
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "src"
HANDLERS = sorted((ROOT / "handlers").glob("*.py"))

# Each room and what lies in it; a new module must be given its room here.
ROOMS: dict[str, tuple[str, ...]] = {
    "ground": (
        "files",
        "files.*",
        "ledger",
        "ledger.*",
        "paths",
        "clock",
        "errors",
        "config",
        "log",
        "project",
        "capture",
        "relay",
        "server.running",
        "dispatch.tracing",
        "unplugged",
        "patterns",
        "trust",
        "version",
        "terminal_text",
        "process",
        "process.*",
    ),
    "left": (
        "events",
        "events.*",
        "plugins",
        "plugins.outcomes",
        "dispatch",
        "dispatch.budget",
        "dispatch.merging",
        "plugins.hookspecs",
        "plugins.markers",
        "plugins.matching",
        "plugins.context",
        "plugins.scan",
        "plugins.route_cache",
        "plugins.bytecode_cache",
        "plugins.strictness",
        "plugins.faults",
        "plugins.loader",
        "dispatch.calls",
        "dispatch.isolation",
        "dispatch.intake",
        "dispatch.replying",
        "dispatch.pairing",
        "dispatch.costs",
        "server.place",
        "server.spare",
        "plugins.finding",
        "plugins.deadlines",
        "plugins.matchable",
    ),
    "right": (
        "workflow",
        "workflow.*",
        "formats",
        "formats.*",
        "sessions",
        "sessions.*",
    ),
    "engine": (
        "engine",
        "server.ahead",
        "server",
        "server.loop",
        "server.claiming",
        "server.workers",
        "server.serving",
        "server.standby",
        "server.changes",
        "server.rehearsal",
        "server.warming",
    ),
    "installing": (
        "install",
        "install.client",
        "install.scopes",
        "install.registration",
        "install.wanted_events",
        "install.settingsfile",
        "install.settingstext",
        "install.records",
        "install.launcher",
        "install.skillcopy",
        "install.apply",
        "install.uninstall",
        "install.upkeep",
        "install.inspection",
        "testkit.shown",
        "testkit.stageagent",
        "testkit",
        "testkit.recorded",
        "testkit.stage",
        "testkit.demo",
        "profile.startup",
        "install.bytecode",
        "install.registered",
        "testkit.output_schema",
        "install.plugin_copies",
        "testkit.throwaway",
        "plugins.switching",
        "testkit.simulate",
        "simulate.*",
        "profile",
        "profile.*",
    ),
    "report": (
        "report",
        "report.*",
    ),
    "checks": (
        "checks",
        "checks.*",
    ),
    "front": (
        "cli",
        "commands",
        "commands.*",
        "__main__",
    ),
}
BELOW: dict[str, frozenset[str]] = {
    "ground": frozenset({"ground"}),
    "left": frozenset({"ground", "left"}),
    "right": frozenset({"ground", "right"}),
    "engine": frozenset({"ground", "left", "engine"}),
    "installing": frozenset({"ground", "left", "installing"}),
    "report": frozenset({"ground", "right", "report"}),
    "checks": frozenset({"ground", "left", "right", "installing", "checks"}),
    "front": frozenset(ROOMS),
}
EXEMPT = ("holdfast", "holdfast.testing")  # the lazy top level, and the plugin for handler authors
ONLY_IN = {
    "click": ("cli", "commands.*"),
    "rich": ("cli", "commands.*"),
    "pluggy": ("plugins.markers", "plugins.hookspecs", "dispatch.calls"),
    "pydantic": ("config", "server.warming", "events.*", "workflow.templates"),
    "pytest": ("testing",),
    "tomlkit": ("plugins.switching",),
}


def module_name(path: Path) -> str:
    """Return a source file's name as a module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SOURCE / "holdfast").rglob("*.py"))}


@cache
def imports(path: Path, *, typing: bool = True) -> frozenset[str]:
    """Return the modules a file imports anywhere in it, also inside functions; optionally not for types only."""
    found: set[str] = set()
    hidden: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typing:
            hidden |= {inner for statement in node.body for inner in ast.walk(statement)}
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a thing comes from"
            base = str(node.module)
            found |= {name if (name := f"{base}.{alias.name}") in MODULES else base for alias in node.names}
    return frozenset(found)


def room_of(module: str) -> str:
    """Return the room a module of ours lies in."""
    short = module.removeprefix("holdfast.")
    rooms = [room for room, names in ROOMS.items() if any(fnmatchcase(short, name) for name in names)]
    assert len(rooms) == 1, f"{module} has no room (or two): give it one in ROOMS"
    return rooms[0]


def test_the_rules_themselves_point_downward() -> None:
    """No wing may import the other, and nothing below the front may import it."""
    assert "right" not in BELOW["left"] | BELOW["engine"] | BELOW["ground"]
    assert "left" not in BELOW["right"] | BELOW["ground"]
    assert not any("front" in below for room, below in BELOW.items() if room != "front")
    assert len(MODULES) > 50


@pytest.mark.parametrize("module", [name for name in MODULES if name not in EXEMPT])
def test_imports_point_downward(module: str) -> None:
    """Every import, lazy ones and those for types included, goes to the same room or one below it."""
    below = BELOW[room_of(module)]
    ours = {name for name in imports(MODULES[module]) if name.split(".")[0] == "holdfast"}

    assert "holdfast" not in ours, "the lazy top level is for handlers; import the module itself"
    assert "holdfast.testing" not in ours
    assert {name: room_of(name) for name in sorted(ours) if room_of(name) not in below} == {}


def test_no_two_modules_import_each_other() -> None:
    """There is no circle, not even through imports inside functions."""
    graph = {
        name: {other for other in imports(path, typing=False) if other in MODULES} for name, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"a circle: {' → '.join((*trail, name))}"
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_stays_in_its_rooms(library: str) -> None:
    """click and rich never come near the hook path; each other library is known in few places."""
    users = {name for name, path in MODULES.items() if library in {one.split(".")[0] for one in imports(path)}}
    strangers = {
        name
        for name in users
        if not any(fnmatchcase(name.removeprefix("holdfast."), known) for known in ONLY_IN[library])
    }
    assert strangers == set()
    assert users, f"nobody uses {library}: the rule is out of date"


def test_nothing_else_is_depended_on() -> None:
    """Beside the standard library only the declared dependencies are imported."""
    declared = {"pydantic", "pluggy", "platformdirs", "click", "rich", "tomlkit"}
    known = set(sys.stdlib_module_names) | declared | {"holdfast", "pytest"}
    found = {one.split(".")[0] for path in (*MODULES.values(), *HANDLERS) for one in imports(path)}

    assert found <= known


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.stem)
def test_shipped_handlers_use_what_a_stranger_may(path: Path) -> None:
    """A shipped handler imports from the two wings and the ground, nothing private, no engine and no command."""
    tree = ast.parse(path.read_bytes())
    ours = {name for name in imports(path) if name in MODULES and name != "holdfast"}

    assert {name: room_of(name) for name in ours if room_of(name) in ("engine", "front")} == {}
    assert not {"click", "rich", "pydantic", "pluggy"} & {name.split(".")[0] for name in imports(path)}
    private = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert private == []


@pytest.mark.parametrize("module", MODULES)
def test_a_room_has_a_door_sign(module: str) -> None:
    """Every module opens with a sentence that says what it is for, and none is named for nothing in particular."""
    sign = (ast.get_docstring(ast.parse(MODULES[module].read_bytes())) or "").split("\n\n")[0]

    assert re.search(r"[.:?)]$", sign), f"{module} has no door sign"
    assert MODULES[module].stem not in {"utils", "helpers", "common", "manager", "base"}
