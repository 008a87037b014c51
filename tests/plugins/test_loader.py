"""Handler files are found in three places, ordered, trusted, replaced, and run from the bytes that were hashed."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
from pathlib import Path
from textwrap import dedent

import pluggy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import paths
from holdfast.clients import claude
from holdfast.config import Config
from holdfast.dispatch.calls import Caller
from holdfast.events import parse
from holdfast.files import trust
from holdfast.plugins import hookspecs, loader, strictness
from holdfast.plugins.context import Context
from holdfast.plugins.loader import HandlerFile
from holdfast.plugins.markers import PROJECT_NAME, hookimpl
from holdfast.plugins.scan import Route
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject

HANDLER = "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event): ...\n"
GUARD = 'from holdfast import hookimpl\n@hookimpl(match="Bash", strict=True)\ndef on_pre_tool_use(event): ...\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's root; the shipped handlers' folder is an empty one of the test's own."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    (tmp_path / "project" / ".claude" / "handlers").mkdir(parents=True)
    return tmp_path / "project"


def write(folder: Path, name: str, text: str | bytes = HANDLER) -> Path:
    """Write a handler file into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return path


def trust_all(root: Path) -> None:
    """Trust the project's handlers and configuration as they are now."""
    files = [*paths.project_handlers(root).glob("*.py"), paths.project_config(root)]
    entries = {trust.relative_name(root, path): trust.digest(path.read_bytes()) for path in files if path.is_file()}
    trust.grant(root, entries)


def find(root: Path) -> list[HandlerFile]:
    """Find the handler files as the engine does."""
    return loader.find(claude, Workspace.open(root, trusted=trust.config_trusted(root)))


def by_place(root: Path, name: str) -> dict[str, HandlerFile]:
    """Return the files of one name, by place."""
    return {file.place: file for file in find(root) if file.name == name}


def test_three_places_in_running_order(root: Path) -> None:
    """Shipped, then the user's, then the project's, each by file name."""
    for folder in (paths.shipped("handlers"), paths.user_handlers(), paths.project_handlers(root)):
        write(folder, f"b_{folder.parent.name.strip('.')}.py")
        write(folder, f"a_{folder.parent.name.strip('.')}.py")
    trust_all(root)

    found = find(root)

    assert [file.place for file in found] == ["shipped"] * 2 + ["user"] * 2 + ["project"] * 2
    assert [file.name[0] for file in found] == ["a", "b"] * 3
    assert all(file.active for file in found)


def test_missing_folders_are_empty(root: Path) -> None:
    """Nobody needs to have any folder, and a file in a folder's place is told."""
    assert find(root) == []
    paths.ensure_private(paths.config_dir())
    paths.user_handlers().write_text("not a folder")
    assert [(file.path, file.faults) for file in find(root)] == [
        (paths.user_handlers(), ("is not a folder, so there are no handlers in it",))
    ]


def test_only_python_files_are_handlers(root: Path) -> None:
    """Private files, hidden files, folders' contents and other kinds are left alone."""
    for name in ("_private.py", ".hidden.py", "notes.md", "x.pyc", "x.py~", "x.py.bak"):
        write(paths.user_handlers(), name)
    write(paths.user_handlers() / "package", "inner.py")
    write(paths.user_handlers() / "__pycache__", "cached.py")

    assert find(root) == []


def test_a_file_knows_itself(root: Path) -> None:
    """Path, bytes, digest and routes are of the very same content."""
    path = write(paths.user_handlers(), "guard.py", GUARD)

    (file,) = find(root)

    assert (file.place, file.name, file.path) == ("user", "guard", path)
    assert file.source == path.read_bytes()
    assert file.digest == trust.digest(file.source)
    assert file.routes == tuple(
        Route(event, "on_pre_tool_use", "Bash", strict=True, line=3) for event in ("PreToolUse", "PreSkillShellCommand")
    )
    assert file.strict


def test_a_nearer_file_of_the_same_name_replaces_a_farther_one(root: Path) -> None:
    """Of three files of one name only the project's runs, once trusted; the others say which one does."""
    write(paths.shipped("handlers"), "a.py")
    write(paths.user_handlers(), "a.py", HANDLER + "# the user's\n")
    own = write(paths.project_handlers(root), "a.py", HANDLER + "# the project's\n")

    files = by_place(root, "a")
    assert [place for place, file in files.items() if file.active] == ["user"]
    assert files["shipped"].replaced_by == files["user"].path

    trust_all(root)
    files = by_place(root, "a")
    assert [place for place, file in files.items() if file.active] == ["project"]
    assert {files[place].replaced_by for place in ("shipped", "user")} == {own}


def test_an_untrusted_project_file_replaces_nothing(root: Path) -> None:
    """Until it is trusted a project's file neither runs nor takes another's place."""
    write(paths.shipped("handlers"), "a.py")
    write(paths.project_handlers(root), "a.py")

    files = by_place(root, "a")

    assert files["shipped"].active
    assert not files["project"].active
    assert not files["project"].trusted


@pytest.mark.parametrize("change", ["content", "name", "root"])
def test_trust_ends_with_any_change(root: Path, tmp_path: Path, change: str) -> None:
    """Another content, another name or another project: the file must be trusted again."""
    path = write(paths.project_handlers(root), "a.py")
    trust_all(root)
    assert find(root)[0].active

    if change == "content":
        path.write_text(HANDLER + "\n")
    elif change == "name":
        path.rename(path.with_name("b.py"))
    else:
        root = root.rename(tmp_path / "moved")
    (file,) = find(root)

    assert not file.trusted
    assert loader.plan(claude, [file], "Stop", None) == []


def test_a_file_that_is_off_replaces_nothing(root: Path) -> None:
    """A nearer file that is switched off, or off by default, leaves the farther one running."""
    write(paths.shipped("handlers"), "a.py")
    write(paths.user_handlers(), "a.py", "OFF_BY_DEFAULT = True\n" + HANDLER)

    files = by_place(root, "a")

    assert (files["user"].off, files["user"].active) == (True, False)
    assert files["shipped"].active


def test_configuration_switches_handlers_off_and_on(root: Path) -> None:
    """`handlers.off` and `handlers.on` name files by stem."""
    write(paths.shipped("handlers"), "a.py")
    write(paths.shipped("handlers"), "b.py", "OFF_BY_DEFAULT = True\n" + HANDLER)
    assert [file.active for file in find(root)] == [True, False]

    write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["a"]\non = ["b"]\n')
    assert [file.active for file in find(root)] == [False, True]


def test_a_file_runs_while_the_configuration_says_so(root: Path) -> None:
    """`RUNS_WHEN` names keys and values; `handlers.off` is stronger, and a key there is none of is never met."""
    write(paths.shipped("handlers"), "a.py", 'RUNS_WHEN = {"reading": ["hold", "off"]}\n' + HANDLER)
    write(paths.shipped("handlers"), "b.py", 'RUNS_WHEN = {"unheard_of": ["x"]}\n' + HANDLER)
    for said, runs in (("", False), ('reading = "hold"\n', True), ('reading = "off"\n', True)):
        write(paths.config_dir(), "holdfast.toml", said)
        assert [file.active for file in find(root)] == [runs, False]
    write(paths.config_dir(), "holdfast.toml", 'reading = "hold"\n[handlers]\noff = ["a"]\n')
    assert [file.active for file in find(root)] == [False, False]


def test_a_users_strict_handler_waits_for_the_users_own_configuration(root: Path) -> None:
    """A project's configuration does not stop it, and where its user has not asked for it, it does not run."""
    write(paths.user_handlers(), "guard.py", 'RUNS_WHEN = {"reading": ["remind"]}\n' + GUARD)
    write(paths.user_handlers(), "other.py", 'RUNS_WHEN = {"reading": ["hold"]}\n' + GUARD)
    project = Workspace(root, Config(reading="off"))
    assert [(file.name, file.active) for file in loader.find(claude, project)] == [("guard", True), ("other", False)]


def test_a_project_file_never_replaces_a_users_strict_handler(root: Path) -> None:
    """Even a trusted file of the same name leaves the user's guard running, and says so."""
    write(paths.shipped("handlers"), "guard.py")
    write(paths.user_handlers(), "guard.py", GUARD)
    write(paths.project_handlers(root), "guard.py")
    trust_all(root)

    files = by_place(root, "guard")

    assert [place for place, file in files.items() if file.active] == ["user"]
    assert files["project"].replaced_by == files["user"].path
    assert "strict" in files["project"].notice


def test_a_broken_strict_handler_is_not_replaced_either(root: Path) -> None:
    """A guard that once loaded keeps its place after its file broke."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    guard.write_text("def on_pre_tool_use(:\n")
    write(paths.project_handlers(root), "guard.py")
    trust_all(root)

    assert [place for place, file in by_place(root, "guard").items() if file.active] == ["user"]


@pytest.mark.parametrize("broken", [False, True])
def test_a_projects_configuration_never_switches_off_a_users_strict_handler(root: Path, broken: bool) -> None:
    """Trusted or not, readable or not, only the user's own file may switch the user's guard off."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    write(paths.user_handlers(), "other.py")
    write(root / ".claude", "holdfast.toml", '[handlers]\noff = ["guard", "other"]\n')
    assert [file.active for file in find(root)] == [True, True]

    trust_all(root)
    if broken:
        guard.unlink()
        guard.mkdir()
    files = {file.name: file for file in find(root)}
    assert (files["guard"].active, files["other"].active) == (True, False)
    assert str(paths.project_config(root)) in files["guard"].notice

    write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["guard"]\n')
    assert not {file.name: file for file in find(root)}["guard"].active


@pytest.mark.parametrize(
    "text",
    [
        "def on_pre_tool_use(:\n",
        GUARD.replace("(event)", "(payload)"),
        GUARD.replace("def ", "async def "),
        GUARD.replace("strict=True", "strict=STRICT"),
        GUARD.replace("@hookimpl", "@marker"),
        GUARD.replace("Bash", "["),
        "\x00",
    ],
)
def test_a_strict_handler_is_remembered_when_its_file_breaks(root: Path, text: str) -> None:
    """A guard that can no longer be called stays in the plan, with the reason, for what it guarded."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    guard.write_text(text)

    files = find(root)
    (call,) = loader.plan(claude, files, "PreToolUse", "Bash")

    assert call.route.strict
    assert call.route.broken
    assert files[0].faults
    assert loader.plan(claude, files, "PreToolUse", "Read") == []
    assert loader.plan(claude, find(root), "PreToolUse", "Bash"), "the second look must not forget it"


def test_a_guard_whose_remembered_matcher_cannot_be_read_guards_every_value(root: Path) -> None:
    """An earlier version could read it: nobody knows what it would have judged, so nothing passes unjudged."""
    guard = write(paths.user_handlers(), "guard.py", "def broken(:\n")
    route = Route("PreToolUse", "on_pre_tool_use", "Bash(", strict=True)
    strictness.remember(guard, [route])

    (call,) = loader.plan(claude, find(root), "PreToolUse", "Read")
    assert call.route.strict and call.route.broken


def test_a_strict_function_is_remembered_beside_a_faulty_one(root: Path) -> None:
    """Another function's mistake, in the same file from the beginning, does not keep the guard from being known."""
    guard = write(paths.user_handlers(), "guard.py", GUARD + "@hookimpl\ndef on_stop(wrong): ...\n")
    find(root)
    guard.write_text("def on_pre_tool_use(:\n")

    assert [call.route.function for call in loader.plan(claude, find(root), "PreToolUse", "Bash")] == [
        "on_pre_tool_use"
    ]


def test_a_mended_guard_is_no_longer_broken(root: Path) -> None:
    """Mending the file makes it callable again."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    guard.write_text("def broken(:\n")
    assert loader.plan(claude, find(root), "PreToolUse", "Bash")[0].route.broken

    guard.write_text(GUARD)
    assert not loader.plan(claude, find(root), "PreToolUse", "Bash")[0].route.broken


@pytest.mark.parametrize("kind", ["folder", "fifo", "loop", "huge", "dangling"])
def test_what_is_no_readable_file_is_a_fault_and_hangs_nobody(root: Path, kind: str) -> None:
    """A folder, fifo, link to itself, huge file or link to nothing in the place of a known guard refuses at once."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    guard.unlink()
    if kind == "folder":
        guard.mkdir()
    elif kind == "fifo":
        os.mkfifo(guard)
    elif kind == "huge":
        guard.write_bytes(b"#" * (loader.SIZE_LIMIT_BYTES + 1))
    else:
        guard.symlink_to(guard if kind == "loop" else guard.with_name("nothing"))

    (file,) = find(root)

    assert file.faults
    assert [call.route.broken != "" for call in loader.plan(claude, [file], "PreToolUse", "Bash")] == [True]


def test_an_untrusted_files_guards_are_not_remembered(root: Path) -> None:
    """A repository cannot plant a guard that refuses: what is not trusted is neither run nor remembered."""
    path = write(paths.project_handlers(root), "guard.py", GUARD)
    find(root)
    path.write_text("def broken(:\n")
    trust_all(root)

    assert loader.plan(claude, find(root), "PreToolUse", "Bash") == []


def test_plan_selects_by_event_and_matcher(root: Path) -> None:
    """Only functions for the event whose matcher selects the value are called."""
    write(paths.user_handlers(), "a.py", GUARD)
    write(paths.user_handlers(), "b.py", GUARD.replace("Bash", "Task"))
    write(paths.user_handlers(), "c.py", GUARD.replace('match="Bash", ', ""))
    files = find(root)

    def names(event: str, value: str | None) -> list[str]:
        return [call.file.name for call in loader.plan(claude, files, event, value)]

    assert names("PreToolUse", "Bash") == ["a", "c"]
    assert names("PreToolUse", "Agent") == ["b", "c"]
    assert names("PreToolUse", "Read") == ["c"]
    assert names("PreToolUse", None) == ["a", "b", "c"]
    assert names("PostToolUse", "Bash") == []


def test_a_file_changed_matcher_sees_the_files_name(root: Path) -> None:
    """On FileChanged the matcher is compared with the basename (client fact §1.3)."""
    write(paths.user_handlers(), "a.py", '@hookimpl(match=".env|x.toml")\ndef on_file_changed(event): ...\n')
    write(paths.user_handlers(), "b.py", '@hookimpl(match="Makefile")\ndef on_file_changed(event): ...\n')
    event = parse({"hook_event_name": "FileChanged", "session_id": "s", "file_path": "/p/Makefile", "event": "change"})

    plan = loader.plan(claude, find(root), "FileChanged", event.matcher_value)

    assert [call.file.name for call in plan] == ["b"]


def test_a_label_names_place_file_and_function(root: Path) -> None:
    """Messages name a call so that a person finds it."""
    write(paths.user_handlers(), "guard.py", GUARD)

    assert loader.plan(claude, find(root), "PreToolUse", "Bash")[0].label == "user/guard.py: on_pre_tool_use"


@given(st.lists(st.sampled_from([(False, False), (True, False), (False, True)]), min_size=1, max_size=7))
@settings(derandomize=True, database=None, deadline=None, max_examples=150)
def test_the_order_is_pluggys_own(options: list[tuple[bool, bool]]) -> None:
    """With tryfirst and trylast the planned order and the calling order are those of a real pluggy call."""
    manager = pluggy.PluginManager(PROJECT_NAME)
    manager.add_hookspecs(hookspecs.of(["on_stop"]))
    for index, (first, last) in reversed(list(enumerate(options))):
        manager.register(plugin(index, first, last))
    real = manager.hook.on_stop(event=None, context=None)

    plan = loader.plan(claude, [file(index, *flags) for index, flags in enumerate(options)], "Stop", None)
    event = parse({"hook_event_name": "Stop", "session_id": "s"})
    caller = Caller(claude, event, Context(Workspace(Path("/nowhere"), Config()), {}), lambda call: 5.0)
    called = [answer.label for answer in caller.answers(plan)]

    assert [call.file.name for call in plan] == real
    assert called == [f"user/{name}.py: on_stop" for name in real]


def plugin(index: int, first: bool, last: bool) -> object:
    """Return a pluggy plugin that answers with its name."""

    class Plugin:
        @hookimpl(tryfirst=first, trylast=last)
        def on_stop(self) -> str:
            return f"h{index}"

    return Plugin()


def file(index: int, first: bool, last: bool) -> HandlerFile:
    """Return the same plugin as a handler file."""
    source = f"from holdfast import hookimpl\n@hookimpl(tryfirst={first}, trylast={last})\ndef on_stop(): ...\n"
    routes = (Route("Stop", "on_stop", tryfirst=first, trylast=last),)
    return HandlerFile("user", f"h{index}", Path("/nowhere") / f"h{index}.py", source.encode(), "", True, False, routes)


def plant(path: Path, source: str) -> None:
    """Put an unchecked compiled file beside a handler: Python's own import would run it instead of the source."""
    evil = path.with_suffix(".evil")
    evil.write_text(source)
    cache = importlib.util.cache_from_source(str(path))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(evil), cfile=cache, invalidation_mode=mode, doraise=True)
    evil.unlink()


def test_a_planted_compiled_file_never_runs(root: Path, tmp_path: Path) -> None:
    """Beside a trusted handler lies a .pyc that Python's import would prefer: the hashed bytes run, not it."""
    path = write(paths.project_handlers(root), "a.py", HANDLER + "TRUTH = 'source'\n")
    plant(path, f"TRUTH = 'planted'\nopen({str(tmp_path / 'ran')!r}, 'w').close()\n")
    trust_all(root)

    (found,) = find(root)
    module = loader.load(found)

    assert module.TRUTH == "source"
    assert not (tmp_path / "ran").exists()
    spec = importlib.util.spec_from_file_location("proof", path)
    assert spec is not None
    assert spec.loader is not None
    proof = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(proof)
    assert proof.TRUTH == "planted", "the trap itself must be a working one"


def test_what_runs_is_what_was_hashed(root: Path) -> None:
    """A file that changes between hashing and running runs as it was hashed, and leaves no compiled file."""
    path = write(paths.user_handlers(), "a.py", HANDLER + "TRUTH = 'hashed'\n")
    (found,) = find(root)
    path.write_text("TRUTH = 'swapped'\n")

    assert loader.load(found).TRUTH == "hashed"
    assert not (path.parent / "__pycache__").exists()


def test_a_loaded_file_is_a_module_of_its_own(root: Path) -> None:
    """The module knows its file, dataclasses work in it, and files of one name in two places do not mix."""
    text = "from dataclasses import dataclass\n@dataclass\nclass Thing:\n    size: 'int' = 3\nHERE = __file__\n"
    user = write(paths.user_handlers(), "a.py", text + HANDLER)
    write(paths.shipped("handlers"), "a.py", HANDLER)

    modules = {found.place: loader.load(found) for found in find(root)}

    assert Path(modules["user"].HERE) == user
    assert modules["user"].Thing().size == 3
    assert modules["user"].__name__ != modules["shipped"].__name__
    assert sys.modules[modules["user"].__name__] is modules["user"]


def test_future_features_of_the_loader_do_not_leak(root: Path) -> None:
    """Annotations of a handler are real objects unless its own file asks otherwise."""
    write(paths.user_handlers(), "a.py", "def function(x: int): ...\n")

    assert loader.load(find(root)[0]).function.__annotations__ == {"x": int}


def refused(root: Path, tool: str = "Bash") -> list[str]:
    """Return why a call of a tool is refused without asking any handler."""
    return [call.route.broken for call in loader.plan(claude, find(root), "PreToolUse", tool) if call.route.broken]


CHANGES = {
    "another strict one": GUARD + "# more\n",
    "no longer strict": GUARD.replace("strict=True", "strict=False"),
    "nothing at all": "",
    "no Python": "def on_pre_tool_use(:\n",
    "off by its own word": "OFF_BY_DEFAULT = True\n" + GUARD,
    "waiting by its own word": "RUNS_WHEN = {'reading': ['hold']}\n" + GUARD,
    "another event": HANDLER,
}


@pytest.mark.parametrize("text", CHANGES.values(), ids=list(CHANGES))
def test_a_trusted_guard_that_changed_refuses_until_it_is_trusted_again(root: Path, text: str) -> None:
    """Whatever it has become, what it guarded is refused, with the commands that end that; nothing of it runs."""
    guard = write(paths.project_handlers(root), "guard.py", GUARD)
    trust_all(root)
    assert refused(root) == []

    guard.write_text(text)
    (said,) = refused(root)
    assert said.startswith("its file was changed since you trusted it; ")
    assert f"holdfast handlers trust --project {root} guard.py" in said
    assert f"holdfast handlers untrust --project {root} guard.py" in said
    (file,) = find(root)
    assert (file.trusted, file.changed, file.active) == (False, True, True)
    assert all(route.broken for route in file.routes)
    assert refused(root), "the second look must not forget it"
    assert refused(root, "Read") == []

    HoldfastProject(root).trust()
    assert bool(refused(root)) == (text == CHANGES["no Python"])


@pytest.mark.parametrize("how", ["file", "folder", "renamed", "directory", "dangling"])
def test_a_trusted_guard_that_is_gone_refuses_until_trust_is_taken_back(root: Path, how: str) -> None:
    """Deleted, renamed, or something else in its place; put back it is called again."""
    guard = write(paths.project_handlers(root), "guard.py", GUARD)
    trust_all(root)
    assert refused(root) == []

    if how == "folder":
        guard.parent.rename(root / "elsewhere")
    elif how == "renamed":
        guard.rename(guard.with_name("other.py"))
    else:
        guard.unlink()
    if how == "directory":
        guard.mkdir()
    if how == "dangling":
        guard.symlink_to(root / "nowhere")
    (said,) = refused(root)
    assert f"holdfast handlers untrust --project {root} guard.py" in said
    for event, value, count in (("PreToolUse", "Bash", 1), ("Stop", None, 0)):
        project = Workspace.open(root)
        assert len(loader.plan(claude, loader.find(claude, project, event, value), event, value)) == count

    trust.revoke(root, {".claude/handlers/guard.py"})
    assert refused(root) == []


def test_a_guard_that_was_never_trusted_refuses_nothing(root: Path) -> None:
    """A clone's guard opens and closes nothing before somebody trusts it, changed or gone."""
    guard = write(paths.project_handlers(root), "guard.py", GUARD)
    find(root)
    guard.write_text(GUARD + "# more\n")
    assert loader.plan(claude, find(root), "PreToolUse", "Bash") == []
    guard.unlink()
    assert find(root) == []


def test_a_handler_that_is_not_strict_is_silent_once_it_changed(root: Path) -> None:
    """It does not run and refuses nothing."""
    path = write(paths.project_handlers(root), "a.py")
    trust_all(root)
    find(root)
    path.write_text(HANDLER + "# more\n")
    (file,) = find(root)
    assert (file.changed, file.active) == (True, False)


def test_a_users_guard_that_is_gone_refuses_until_it_is_forgotten(root: Path) -> None:
    """Its name says what to switch off; an edited one is used as it is."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    guard.rename(guard.with_name("kept.txt"))
    (said,) = refused(root)
    assert said.startswith("its file is gone; ")
    assert "in a terminal: holdfast handlers off guard" in said

    strictness.remember(guard, ())
    assert refused(root) == []


def test_a_users_guard_in_another_folder_refuses(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's environment names another folder of configuration; the command that is named works there."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "an other"))
    (said,) = refused(root)
    assert said.startswith(f"its file ({guard}) is not in {paths.user_handlers()}, where yours are looked for; ")
    command = f"env 'XDG_CONFIG_HOME={tmp_path}/an other' holdfast handlers off guard"
    assert f"(in a terminal: {command})" in said

    write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["guard"]\n')
    assert refused(root) == []


def test_a_users_guard_that_was_moved_with_its_folder_runs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is there: it is found."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    paths.user_handlers().mkdir(parents=True)
    guard.rename(paths.user_handlers() / "guard.py")
    assert refused(root) == []
    assert [call.file.path.parent for call in loader.plan(claude, find(root), "PreToolUse", "Bash")] == [
        paths.user_handlers()
    ]


def test_a_guard_that_is_gone_is_not_replaced(root: Path) -> None:
    """A project's trusted file of the same name does not take the place of the user's lost guard."""
    guard = write(paths.user_handlers(), "guard.py", GUARD)
    find(root)
    guard.unlink()
    write(paths.project_handlers(root), "guard.py", HANDLER)
    trust_all(root)
    assert len(refused(root)) == 1
    assert [file.place for file in find(root) if file.active] == ["user"]


def test_a_guard_is_not_switched_off_by_a_changed_configuration(root: Path) -> None:
    """What the project's trusted configuration switched on stays strict when that changes; trust ends it."""
    write(paths.project_handlers(root), "guard.py", "RUNS_WHEN = {'reading': ['hold']}\n" + GUARD)
    config = write(root / ".claude", "holdfast.toml", 'reading = "hold"\n')
    trust_all(root)
    assert len(loader.plan(claude, find(root), "PreToolUse", "Bash")) == 1
    config.write_text('reading = "off"\n')
    (said,) = refused(root)
    assert said.startswith(f"{config} was changed since you trusted it; ")
    trust_all(root)
    assert loader.plan(claude, find(root), "PreToolUse", "Bash") == []


def test_a_guard_that_its_user_switched_off_refuses_nothing_when_it_changes(root: Path) -> None:
    """By name in the configuration, now or before it changed."""
    guard = write(paths.project_handlers(root), "guard.py", GUARD)
    mine = write(paths.user_handlers(), "mine.py", GUARD)
    trust_all(root)
    find(root)
    write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["guard", "mine"]\n')
    assert find(root)
    assert strictness.recall(guard) == strictness.recall(mine) == ()
    guard.write_text(HANDLER)
    mine.unlink()
    assert refused(root) == []


def test_a_lost_guard_that_is_switched_off_by_name_is_forgotten(root: Path) -> None:
    """Switched on again, it is no longer known."""
    mine = write(paths.user_handlers(), "mine.py", GUARD)
    find(root)
    mine.unlink()
    assert refused(root)
    config = write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["mine"]\n')
    find(root)
    config.unlink()
    assert find(root) == []


def test_a_users_guard_that_is_off_by_default_stays_off(root: Path) -> None:
    """Until its user's own configuration names it; a project's cannot take that back."""
    write(paths.user_handlers(), "guard.py", "OFF_BY_DEFAULT = True\n" + GUARD)
    assert not find(root)[0].active
    write(paths.config_dir(), "holdfast.toml", '[handlers]\non = ["guard"]\n')
    write(root / ".claude", "holdfast.toml", "[handlers]\non = []\n")
    trust_all(root)
    assert find(root)[0].active


def test_what_everybody_is_offered_asks_nothing_of_this_machine(root: Path) -> None:
    """Neither trust nor configuration nor memory; a look leaves nothing behind."""
    folder = paths.project_handlers(root)
    write(folder, "guard.py", GUARD)
    write(folder, "off.py", "OFF_BY_DEFAULT = True\n" + HANDLER)
    write(folder, "bad.py", "def broken(:\n")
    (folder / "closed.py").mkdir()
    write(paths.config_dir(), "holdfast.toml", '[handlers]\noff = ["guard"]\n')

    files = {file.name: file for file in loader.offered(claude, "project", folder)}

    assert [name for name, file in files.items() if file.active and not file.faults] == ["guard"]
    assert [name for name, file in files.items() if file.faults] == ["bad", "closed"]
    assert strictness.recall(folder / "guard.py") == ()


def test_a_file_that_was_loaded_in_advance_runs_once(root: Path) -> None:
    """Only for the bytes that were loaded; and the next call of the file runs it again."""
    path = write(paths.user_handlers(), "told.py", HANDLER + "import sys\nsys.told = getattr(sys, 'told', 0) + 1\n")
    (file,) = find(root)
    loader.keep(file)
    kept = sys.modules[loader.module_name(file)]
    assert loader.load(file) is kept
    assert loader.load(file) is not kept

    loader.keep(file)
    path.write_text(HANDLER + "NEW = True\n")
    (changed,) = find(root)
    assert vars(loader.load(changed))["NEW"]
    assert vars(sys)["told"] == 3
    del vars(sys)["told"]
