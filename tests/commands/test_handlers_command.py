"""`holdfast handlers …` lists, trusts, checks and writes handlers."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast import events, paths
from holdfast.clients.claude import claude, scopes, versions
from holdfast.files import trust
from holdfast.install import install
from holdfast.plugins import discovery, strict_memory
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject
from holdfast.workflow import wording
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path

REAL = {kind: paths.shipped(kind) for kind in ("hooks", "skills")}
GOOD = "from holdfast import *\n\n\n@hookimpl\ndef on_stop(event):\n    return None\n"
GUARD = "from holdfast import *\n\n\n@hookimpl(strict=True)\ndef on_pre_tool_use(event):\n    return None\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a handler of its own that nobody trusts yet; no shipped handlers, no client."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped" / kind)
    monkeypatch.setattr(versions, "version", lambda: None)
    root = tmp_path / "project"
    write(paths.project_handlers(root) / "mine.py")
    return root


def write(path: Path, text: str = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def trusted(root: Path) -> list[str]:
    files = discovery.find(claude, Workspace.open(root, trusted=trust.config_trusted(root)))
    return [file.name for file in files if file.place == "project" and file.trusted]


def test_trust_is_given_to_the_content_there_is(root: Path) -> None:
    """It shows what a file answers; a change of content ends the trust."""
    said = holdfast("handlers", "trust", "--yes", root=root).out

    assert ".claude/handlers/mine.py" in said
    assert "answers Stop" in said
    assert trusted(root) == ["mine"]
    assert "Nothing to trust" in holdfast("handlers", "trust", "--yes", root=root).out

    write(paths.project_handlers(root) / "mine.py", GOOD + "\n")
    assert trusted(root) == []


def test_nothing_is_trusted_unasked(root: Path) -> None:
    """Where nobody can be asked, --yes is needed."""
    said = holdfast("handlers", "trust", root=root, code=1)

    assert "add --yes" in said.err
    assert trusted(root) == []


@pytest.mark.parametrize(("answer", "count"), [("y\n", 1), ("n\n", 0), ("\n", 0)])
def test_at_a_terminal_it_asks(root: Path, monkeypatch: pytest.MonkeyPatch, answer: str, count: int) -> None:
    """The default is no."""
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)

    said = holdfast("handlers", "trust", root=root, code=0 if count else 1)

    assert "Trust it?" in said.out
    assert len(trusted(root)) == count


def test_single_files_are_trusted_and_untrusted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a path from here, or by the name in the handlers' folder."""
    write(paths.project_handlers(root) / "other.py")
    monkeypatch.chdir(root / ".claude")

    holdfast("handlers", "trust", "--yes", "other.py", root=root)
    assert trusted(root) == ["other"]
    holdfast("handlers", "trust", "--yes", "handlers/mine.py", root=root)
    assert trusted(root) == ["mine", "other"]

    assert "1 file no longer trusted." in holdfast("handlers", "untrust", "mine.py", root=root).out
    assert trusted(root) == ["other"]
    assert "1 file no longer trusted." in holdfast("handlers", "untrust", root=root).out
    assert trusted(root) == []


@pytest.mark.parametrize("name", ["/etc/hosts", "../shipped", "README.md", "nope.py"])
def test_what_is_no_handler_of_the_project_is_not_trusted(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Only its handlers and its holdfast.toml are."""
    write(root / "README.md", "x")
    monkeypatch.chdir(root)

    said = holdfast("handlers", "trust", "--yes", name, root=root, code=1)

    assert said.err.startswith("holdfast: ")
    assert trusted(root) == []


def test_the_projects_configuration_is_trusted_with_its_handlers(root: Path) -> None:
    """Until then it may set only what is harmless."""
    config = write(paths.project_config(root), 'todos = "off"\n')
    assert not trust.config_trusted(root)

    assert '  configuration: todos = "off"' in holdfast("handlers", "trust", "--yes", root=root).out.splitlines()

    assert trust.config_trusted(root)
    config.write_text('todos = "tell"\n')
    assert not trust.config_trusted(root)


def test_check_names_the_ones_at_fault(root: Path) -> None:
    """Exit 1 if there are any; the sound ones are counted."""
    write(paths.user_handlers() / "bad.py", "1 / 0\n" + GOOD)
    write(paths.user_handlers() / "good.py")

    said = holdfast("handlers", "check", root=root, code=1)

    assert "user/bad.py: " in said.out
    assert "ZeroDivisionError" in said.out
    assert "No faults in 2 of 3 handlers." in said.out
    (fault,) = holdfast("handlers", "check", "--json", root=root, code=1).json
    assert fault["file"] == str(paths.user_handlers() / "bad.py")
    assert fault["place"] == "user"


@pytest.mark.parametrize("event", events.EVENTS)
def test_a_new_handler_works_as_it_is_written(root: Path, event: str) -> None:
    """For every event `new` writes a file that loads and answers without a fault."""
    holdfast("handlers", "new", "fresh", "--event", event, root=root)

    project = HoldfastProject(root)
    project.checked = False  # the project has a file that nobody trusts
    fired = project.fire(event)

    assert (paths.user_handlers() / "fresh.py").is_file()
    assert fired.faults == []


def test_a_new_handler_of_the_project_is_trusted(root: Path) -> None:
    """Its author has just had it written; its content is hashed like any other."""
    said = holdfast("handlers", "new", "fresh", "--event", "Stop", "--in-project", root=root).out

    assert str(root / ".claude" / "handlers" / "fresh.py") in said
    assert trusted(root) == ["fresh"]
    assert "Trust it again after each edit: holdfast handlers trust fresh.py\n" in said


def test_new_never_overwrites(root: Path) -> None:
    """Another name is asked for."""
    said = holdfast("handlers", "new", "mine", "--event", "Stop", "--in-project", root=root, code=1)

    assert "already exists; choose another name" in said.err
    assert (paths.project_handlers(root) / "mine.py").read_text() == GOOD


@pytest.mark.parametrize(
    "arguments", [("a-b",), ("../x",), ("_hidden",), ("",), ("fresh", "--event", "Nonsense"), ("fresh", "--in-project")]
)
def test_a_wrong_name_or_event_is_a_usage_error(root: Path, arguments: tuple[str, ...]) -> None:
    """Exit 2, and nothing is written."""
    given = arguments if len(arguments) > 1 else (*arguments, "--event", "Stop")

    holdfast("handlers", "new", *given, root=root, code=2)

    assert not paths.user_handlers().exists()


def test_a_handler_that_makes_worktrees_is_told_what_that_means(root: Path) -> None:
    """It takes the place of git, so one that only looks on would break every worktree."""
    write(paths.user_handlers() / "mine.py", GOOD.replace("on_stop", "on_worktree_create"))
    said = holdfast("handlers", "check", root=root)
    assert said.code == 0
    assert "user/mine.py: note: on_worktree_create makes worktrees instead of Claude Code" in said.out


def test_a_change_is_shown_before_it_is_trusted(root: Path) -> None:
    """As a unified diff since it was trusted, with nothing in it that steers a terminal."""
    mine = paths.project_handlers(root) / "mine.py"
    assert "as trusted" not in holdfast("handlers", "trust", "--yes", root=root).out
    mine.write_text(GOOD.replace("None", "None  # \x1b[2J\u202e") + "# 2\n")

    said = holdfast("handlers", "trust", root=root, code=1).out

    assert "  --- as trusted\n  +++ as it is now\n" in said
    assert "  -    return None\n  +    return None  # \\u001b[2J\\u202e\n" in said
    assert "\x1b" not in said
    assert trusted(root) == []
    assert "as trusted" in holdfast("handlers", "trust", "--yes", "mine.py", root=root).out
    assert "as trusted" not in holdfast("handlers", "trust", "--yes", "mine.py", root=root).out


def test_where_the_trusted_content_was_not_kept_it_is_said(root: Path) -> None:
    """Trust given by an earlier version, or to a large file."""
    mine = paths.project_handlers(root) / "mine.py"
    trust.grant(root, {".claude/handlers/mine.py": trust.digest(mine.read_bytes())})
    write(mine, GOOD + "# 2\n")
    assert "the earlier content wasn't kept, so read all of it" in holdfast("handlers", "trust", "--yes", root=root).out


@pytest.mark.parametrize(("names", "count"), [(["guard.py"], 1), ([], 2)])
def test_a_trusted_handler_that_is_gone_is_named_and_let_go(root: Path, names: list[str], count: int) -> None:
    """`trust` cannot trust it; `untrust` takes its name though there is no file, and ends what it refuses."""
    guard = write(paths.project_handlers(root) / "guard.py", GUARD)
    holdfast("handlers", "trust", "--yes", root=root)
    assert strict_memory.recall(guard)
    guard.unlink()

    command = f"holdfast handlers untrust --project {root} guard.py"
    assert (
        f"guard.py is gone, but still trusted. Put it back, or run: {command}"
        in holdfast("handlers", "trust", root=root).out
    )
    assert command in holdfast("handlers", "check", root=root, code=1).out
    assert (
        f"{wording.count(count, 'file')} no longer trusted." in holdfast("handlers", "untrust", *names, root=root).out
    )
    assert strict_memory.recall(guard) == ()
    assert "guard" not in holdfast("handlers", "check", root=root).out


@pytest.mark.parametrize("text", [GUARD, "def broken(:\n"])
def test_a_guard_that_is_switched_off_refuses_nothing(root: Path, text: str) -> None:
    """In force or broken: it is neither called nor remembered, until it is switched on again."""
    guard = write(paths.user_handlers() / "guard.py", GUARD)
    holdfast("handlers", "list", root=root)
    write(guard, text)
    refused = strict_memory.recall(guard)

    assert "guard is off" in holdfast("handlers", "off", "guard", root=root).out
    assert "guard was already off" in holdfast("handlers", "off", "guard", root=root).out
    assert "switched off" in holdfast("handlers", "list", root=root).out
    assert strict_memory.recall(guard) == ()
    assert "guard is on" in holdfast("handlers", "on", "guard", root=root).out
    assert "guard was already on" in holdfast("handlers", "on", "guard", root=root).out
    assert "on = " not in paths.user_config().read_text()
    holdfast("handlers", "list", root=root)
    assert strict_memory.recall(guard) == (refused if text == GUARD else ())


def test_a_handler_that_is_off_and_gone_is_taken_out_of_the_list(root: Path) -> None:
    """What `handlers off` promises holds when the file is gone; without an entry, the name is unknown."""
    file = write(paths.user_handlers() / "noisy.py")
    holdfast("handlers", "off", "noisy", root=root)
    file.unlink()

    assert "names 'noisy', but no handler has that name" in holdfast("doctor", root=root, code=1).out
    assert "Took noisy out of handlers.off" in holdfast("handlers", "on", "noisy", root=root).out
    assert "noisy" not in paths.user_config().read_text()
    assert "there is no handler" in holdfast("handlers", "on", "noisy", root=root, code=1).err


def test_a_handler_that_is_off_by_default_is_switched_on(root: Path) -> None:
    """In your own list; one that still doesn't run, or still runs, is named with the reason."""
    write(paths.user_handlers() / "quiet.py", f"OFF_BY_DEFAULT = True\n{GOOD}")
    assert "quiet is on." in holdfast("handlers", "on", "quiet", root=root).out
    assert 'on = ["quiet"]' in paths.user_config().read_text()
    assert "mine.py doesn't run: not trusted" in holdfast("handlers", "on", "mine", root=root).out

    write(paths.project_config(root), "[handlers]\noff = []\n")
    holdfast("handlers", "trust", "--yes", root=root)
    assert "mine is off" in holdfast("handlers", "off", "mine", root=root).out
    still = holdfast("handlers", "off", "mine", root=root).out
    assert "It still runs here, because .claude/holdfast.toml has its own handlers.off." in still.replace(
        f"{root}/", ""
    )


def test_a_guard_that_is_gone_is_forgotten_and_its_namesake_stays(root: Path) -> None:
    """The command that switches that off, too, is named."""
    guard = write(paths.user_handlers() / "mine.py", GUARD)
    holdfast("handlers", "trust", "--yes", root=root)
    holdfast("handlers", "list", root=root)
    guard.unlink()
    said = holdfast("handlers", "off", "mine", root=root).out
    assert "which is gone. It no longer refuses anything." in said
    assert "mine.py stays on. To switch it off too: holdfast handlers off mine" in said


def test_a_handler_that_cannot_be_read_is_left_out_of_what_is_trusted(root: Path) -> None:
    """The others are trusted all the same; naming it is an error."""
    write(paths.project_handlers(root) / "large.py", "#" * 1_000_000)
    said = holdfast("handlers", "trust", "--yes", root=root).out
    assert "Left out: " in said and "large.py: is larger than" in said
    assert trusted(root) == ["mine"]
    assert "large.py: is larger than" in holdfast("handlers", "trust", "--yes", "large.py", root=root, code=1).err


def test_a_switch_keeps_the_rest_of_the_configuration(root: Path) -> None:
    """Comments, order and the lists' own form stay; a file that is no TOML is named and stays as it is."""
    write(paths.user_handlers() / "mine.py", GOOD)
    config = write(
        paths.user_config(), '# mine\nformat = "wfs" # why\n\n[handlers]\noff = [\n  "a", # x\n]\ntimeout = 3\n'
    )
    holdfast("handlers", "off", "mine", root=root)
    assert config.read_text() == (
        '# mine\nformat = "wfs" # why\n\n[handlers]\noff = [\n  "a", # x\n  "mine",\n]\ntimeout = 3\n'
    )
    for broken, words in (
        ("a = [", "is not TOML"),
        ("handlers = 5", "is not a list"),
        ("[handlers]\noff = 'x'", "off' is"),
    ):
        write(config, broken)
        assert words in holdfast("handlers", "off", "mine", root=root, code=1).err
        assert config.read_text() == broken


def test_check_says_what_will_not_run_and_what_changes_that(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not trusted; an event, or a tool of it, that nobody registered; and nothing where all is well."""
    said = holdfast("handlers", "check", "mine", root=root).out
    assert f"mine.py: not used: not trusted; holdfast handlers trust --project {root} mine.py" in said
    assert (
        "No faults in 1 handler.\nNone of them runs, because Holdfast isn't registered. Run holdfast install." in said
    )

    shipped = root.parent / "shipped"
    monkeypatch.setattr(paths, "shipped", lambda kind: REAL.get(kind, shipped / kind))
    holdfast("handlers", "trust", "--yes", root=root)
    install.install(scopes.target("user", root))
    monkeypatch.chdir(root)
    assert holdfast("handlers", "check", ".claude/handlers/mine.py", root=root).out == "No faults in 1 handler.\n"

    yours = write(paths.user_handlers() / "yours.py", GUARD.replace("strict=True", "match='Read'"))
    said = holdfast("handlers", "check", str(yours), root=root).out
    assert "on_pre_tool_use doesn't run: PreToolUse isn't registered. Run holdfast install" in said
    assert "mine.py" not in said
    install.install(scopes.target("user", root))
    assert "note" not in holdfast("handlers", "check", "yours.py", root=root).out
    write(yours, GUARD.replace("strict=True", "match='Read|Edit'"))
    said = holdfast("handlers", "check", "yours.py", root=root).out
    assert "doesn't run for all of Read|Edit: PreToolUse is registered only for Read. Run holdfast install" in said

    said = holdfast("handlers", "check", "nope.py", root=root, code=1).err
    assert "there is no handler 'nope.py'; `holdfast handlers list` lists them" in said
    said = holdfast("handlers", "check", "x/Yuors.py", root=root, code=1).err
    assert "there is no handler 'x/Yuors.py'; did you mean yours?" in said


def test_handlers_lists_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table whose rows stay whole in a pipe; on a narrow terminal cells wrap, and nothing is cut off."""
    guard = paths.user_handlers() / "a_guard_with_a_very_long_name.py"
    write(guard, GUARD.replace("strict=True", "strict=True, match='Read|Edit'"))
    write(paths.user_handlers() / "other.py", GUARD.replace("(strict=True)", ""))
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = holdfast("handlers", root=root).out

    assert f"  1.  user  {paths.shown(str(guard))}  match=Read|Edit  strict\n" in whole
    assert [line for line in whole.splitlines() if line.endswith(" ")] == []
    assert whole == holdfast("handlers", "list", root=root).out
    assert holdfast("handlers", "--json", root=root).json == holdfast("handlers", "list", "--json", root=root).json
    assert holdfast("handlers", "--project", str(root)).out == whole
    monkeypatch.setenv("COLUMNS", "40")
    narrow = holdfast("handlers", root=root).out.partition("\nStop\n")[0]
    assert max(map(len, narrow.splitlines())) <= 40
    assert "…" not in narrow
