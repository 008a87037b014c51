"""The layer rules: imports point downward only, and the two wings meet nowhere below the handlers."""

from __future__ import annotations

import ast
import re
import sys
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "src"
HANDLERS = sorted(path for folder in ("handlers", "catalogue") for path in (ROOT / folder).glob("*.py"))

# What lies at the top beside folders: the foundations, and what installed launchers and users call by name.
FOUNDATIONS = frozenset(
    (
        "capture",
        "clock",
        "config",
        "errors",
        "log",
        "paths",
        "project",
        "relay",
    )
) | {"version"}
CALLED_BY_NAME = frozenset(("__main__", "cli", "engine", "events", "testing", "workflows"))
GROUND = frozenset(("files", "memory", "process", "records", "client"))
# Each folder, and those it may import from beside itself, the foundations and the ground. The two wings are
# `plugins` to `clients` on the left, events in and replies out, and `workflow` to `sessions` on the right.
LEFT = ("plugins", "dispatch", "server", "clients")
RIGHT = ("workflow", "formats", "trail", "sessions")
BELOW: dict[str, frozenset[str]] = {
    **{folder: frozenset[str]() for folder in GROUND},
    **{folder: frozenset(LEFT[:depth]) for depth, folder in enumerate(LEFT)},
    **{folder: frozenset(RIGHT[:depth]) for depth, folder in enumerate(RIGHT)},
    "install": frozenset(LEFT),
    "telemetry": frozenset(LEFT),
    "testkit": frozenset(("clients", "plugins", "dispatch")),
    "report": frozenset(RIGHT),
    "checks": frozenset((*LEFT, *RIGHT, "install", "testkit", "telemetry")),
    "commands": frozenset((*LEFT, *RIGHT, "install", "testkit", "telemetry", "report", "checks", "engine")),
    # The top level, for what is called by name.
    "engine": frozenset((*LEFT, "install")),
    "events": frozenset(("clients",)),
    "cli": frozenset(("engine", "commands")),
    "workflows": frozenset(RIGHT),
    "testing": frozenset(("engine", "clients", "plugins", "dispatch", "testkit")),
    "__main__": frozenset(("cli",)),
}
BELOW["server"] |= {"engine"}
WITHOUT_LEDGER = ("workflow", "formats")  # they receive `Records`
PUBLIC = frozenset(("holdfast", "holdfast.events", "holdfast.sessions", "holdfast.workflows"))  # what handlers import
EXEMPT = ("holdfast",)  # the lazy top level, for handlers
ONLY_IN = {
    "click": ("cli", "commands.*", "formats.*.commands*", "formats.*.verbs"),
    "rich": ("cli", "commands.*", "formats.*.commands*"),
    "pluggy": ("plugins.markers", "dispatch.calls"),
    "pydantic": (
        *("config", "install.installs", "plugins.options", "plugins.rules", "server.preload", "sessions.templates"),
        *("clients.claude.events.*", "clients.claude.settings_schema"),
        *("formats.*.schema", "formats.described.description", "formats.skills.machine"),
        *("workflow.lenient", "workflow.definitions"),
    ),
    "pytest": ("testing",),
    "jinja2": ("report.page",),
    "markdown_it": ("workflow.markdown",),
    "tomlkit": ("plugins.switches",),
    "packaging": ("install.handler_packages",),
    "opentelemetry": ("telemetry.sender",),
    "tree_sitter": ("process.shell.bash",),
    "tree_sitter_bash": ("process.shell.bash",),
}


def module_name(path: Path) -> str:
    """Return a source file's name as a module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SOURCE / "holdfast").rglob("*.py"))}


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules a file imports anywhere in it, also inside functions and for types only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a thing comes from"
            base = str(node.module)
            found |= {name if (name := f"{base}.{alias.name}") in MODULES else base for alias in node.names}
    return frozenset(found)


def folder_of(module: str) -> str:
    """Return the folder a module of ours lies in, below `src/holdfast`; at the top, its own name.

    The functions for programs that use a format are bound as commands are. A format's record imports nothing, so that
    anybody may ask for it; nor does the clients' base class.
    """
    if module == "holdfast.clients.client":
        return "client"
    first, *rest = module.removeprefix("holdfast.").split(".")
    if first == "formats" and (not rest or rest[-1] == "record"):
        return "records"
    return "commands" if first == "formats" and rest[-1] == "functions" else first


def test_at_the_top_lie_folders_and_a_few_foundations() -> None:
    """Whoever looks for something looks for a folder; a new module belongs into one."""
    top = {path.stem for path in (SOURCE / "holdfast").glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in (SOURCE / "holdfast").glob("*/__init__.py")}

    assert top == FOUNDATIONS | CALLED_BY_NAME
    assert folders | {"records", "client"} == set(BELOW) - CALLED_BY_NAME


def test_the_rules_themselves_point_downward() -> None:
    """No wing may import the other, and no two folders may import each other."""
    assert not any(BELOW[folder] & set(RIGHT) for folder in (*LEFT, *GROUND, "engine", "install", "testkit"))
    assert not any(BELOW[folder] & set(LEFT) for folder in (*RIGHT, *GROUND, "report"))
    circles = {frozenset((folder, other)) for folder in BELOW for other in BELOW[folder] if folder in BELOW[other]}
    assert circles == {frozenset(("engine", "server"))}  # the server's children run the engine, which starts the server


@each_row("module", [name for name in MODULES if name not in EXEMPT])
def test_imports_point_downward(module: str) -> None:
    """Every import, lazy ones and those for types included, goes to the same folder or one below it."""
    folder = folder_of(module)
    ours = {name for name in imports(MODULES[module]) if name.split(".")[0] == "holdfast"}

    assert "holdfast" not in ours, "the lazy top level is for handlers; import the module itself"
    assert module == "holdfast.testing" or "holdfast.testing" not in ours
    allowed = FOUNDATIONS | GROUND | {folder} | BELOW.get(folder, frozenset())
    if folder in WITHOUT_LEDGER:
        allowed -= {"memory"}
        assert "OpenProject" not in MODULES[module].read_text("utf-8"), "that is a project with its ledger"
    assert {name for name in ours if folder_of(name) not in allowed} == set()


def test_no_two_modules_import_each_other() -> None:
    """There is no circle, not even through imports inside functions or for types."""
    graph = {name: {other for other in imports(path) if other in MODULES} for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"a circle: {' → '.join((*trail, name))}"
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@each_row("library", ONLY_IN)
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
    declared = {"pydantic", "pluggy", "platformdirs", "click", "rich", "tomlkit", "markdown_it", "packaging", "jinja2"}
    declared |= {"tree_sitter", "tree_sitter_bash", "opentelemetry", "requests"}  # the extras `shell` and `otel`
    known = set(sys.stdlib_module_names) | declared | {"holdfast", "pytest"}
    found = {one.split(".")[0] for path in (*MODULES.values(), *HANDLERS) for one in imports(path)}

    assert found <= known


@each_row("path", HANDLERS, ids=lambda path: path.stem)
def test_shipped_handlers_use_what_a_stranger_may(path: Path) -> None:
    """A shipped handler imports the public API and the standard library, and no private name."""
    names = {
        alias.name
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert imports(path) <= PUBLIC | sys.stdlib_module_names | {"pydantic"}
    assert not [name for name in names if name.startswith("_")]


@each_row("module", MODULES)
def test_every_package_has_a_docstring(module: str) -> None:
    """Every module opens with a sentence that says what it is for, and none is named for nothing in particular."""
    sign = (ast.get_docstring(ast.parse(MODULES[module].read_bytes())) or "").split("\n\n")[0]

    assert re.search(r"[.:?)]$", sign), f"{module} has no door sign"
    assert MODULES[module].stem not in {"utils", "helpers", "common", "manager", "base"}
