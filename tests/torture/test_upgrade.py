"""An earlier version is installed and in use, and its package is replaced in place, without another `holdfast install`.

A guard that opens while a package is replaced is the worst fault that an upgrade can have. So these tests look at each
step of it: the server of the earlier version answers, is dead or hangs; the files are half replaced; an event has begun
already; a minute and an hour have passed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes, waiting
from tests.processes import ROOT, SESSION, Ended, Place
from tests.torture import earlier_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Check = Callable[[Ended], bool]

pytestmark = pytest.mark.slow

MINE = '''
    """A guard and an adviser of the user's own."""
    import os

    from holdfast import advise, deny, hookimpl
    from holdfast.events import PreToolUse, UserPromptSubmit


    @hookimpl(match="Bash", strict=True)
    def on_pre_tool_use(event: PreToolUse):
        return deny("I say no") if "rm -rf" in event.tool_input.get("command", "") else None


    @hookimpl
    def on_user_prompt_submit(event: UserPromptSubmit):
        return advise(f"Mind the gap. Session {os.getsid(0)}.")
    '''
TEAM = '''
    """The team's guard."""
    from holdfast import deny, hookimpl


    @hookimpl(match="Bash", strict=True)
    def on_pre_tool_use(event):
        return deny("the team says no") if "deploy" in event.tool_input.get("command", "") else None
    '''
SECOND = """
    from holdfast import block, hookimpl


    @hookimpl(strict=True)
    def on_user_prompt_submit(event):
        return block("no passwords") if "password" in event.prompt else None
    """
SETTINGS = b'{\n    "model": "opus",\r\n  "hooks": {},\n\t"env": {"A": "1"} }\n'
"""Settings in an indentation of their own, which an uninstall brings back."""
PHASES = {"Plan it": "planner", "Build it": "builder", "Test it": "tester", "Ship it": "shipper", "Rest": "rester"}
"""The phases of the workflow, each with its agent. The first one is finished before the upgrade, the second started."""
MOMENTS = {"at once": (0.0, "Build it"), "a minute later": (60.0, "Test it"), "an hour later": (3600.0, "Ship it")}
"""When events come after the upgrade: how many seconds, and which phase's agent ends then."""
PLACES = ("home", "project", "venv", "checkout")
LONG_S = 300.0
"""Time for something that takes moments, however busy the machine is."""


LAYOUTS = [(revision, layout) for revision in earlier_trees.REVISIONS for layout in ("wheel", "checkout")]
EVERY = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["some", "all"])
"""Whether a checkout gets every row of a test as well, or only one: there only the launcher differs."""
DONE = Ended(0, "", "", 0.0)


@dataclass(frozen=True)
class World(Place):
    """A home and a project, and an interpreter with an earlier version, which a new one replaces.

    Attributes:
        layout: how the package is installed: `wheel` or `checkout`.
        folder: where all of this lies.
    """

    layout: str = "wheel"
    folder: Path = Path()

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        """The interpreter's own site-packages."""
        (found,) = (self.folder / "venv" / "lib").glob("python*/site-packages")
        return found

    @property
    def package(self) -> Path:
        """The folder of the package."""
        return self.site / "holdfast" if self.layout == "wheel" else self.folder / "checkout" / "src" / "holdfast"

    @property
    def handlers(self) -> Path:
        """The folder of the shipped handlers."""
        return self.package / "_shipped" / "handlers" if self.layout == "wheel" else self.folder / "checkout/handlers"

    @property
    def new(self) -> Path:
        """Today's tree."""
        return self.folder / "trees" / "new"

    @property
    def state(self) -> Path:
        """Holdfast's state folder."""
        return self.home / ".local" / "state" / "holdfast"

    @property
    def workflow(self) -> Path:
        """The workflow's state file."""
        return self.root / ".claude" / "state" / "workflow.json"

    @property
    def statuses(self) -> list[str]:
        """The statuses of the workflow's phases."""
        return [phase["status"] for phase in json.loads(self.workflow.read_bytes())["phases"]]

    def environ(self, **changes: str | None) -> dict[str, str]:
        """Return a hook's environment; a server may run, and in a wheel's world the native relay."""
        relay = None if self.layout == "wheel" else "python"
        return super().environ(**({"HOLDFAST_SERVER": None, "HOLDFAST_RELAY": relay} | changes))

    def put(self, tree: Path) -> None:
        """Install a tree as pip does, or update the checkout as `git pull` does, which touches only what differs."""
        for source, target in self.parts(tree).items():
            if self.layout == "wheel":
                shutil.rmtree(target, ignore_errors=True)
            replace(source, target, files(source) | files(target))

    def names(self) -> set[Path]:
        """Return the paths of all files that the package has or today's has, relative to it."""
        return files(self.package) | files(self.new / "src" / "holdfast")

    def renew(self, names: Iterable[Path]) -> None:
        """Replace only some files of the package by today's."""
        replace(self.new / "src" / "holdfast", self.package, names)

    def parts(self, tree: Path) -> dict[Path, Path]:
        """Return which folder of a tree is put where; the package is first."""
        rest = {tree / name: self.handlers.parent / name for name in ("handlers", "hooks", "skills")}
        return {tree / "src" / "holdfast": self.package, **rest}

    def depend(self, tree: Path) -> None:
        """Add what a tree depends on to the interpreter, from the test's own environment."""
        wanted = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
        for name in closure(wanted):
            for part in {file.parts[0] for file in metadata.distribution(name).files or ()} - {"..", "__pycache__"}:
                with suppress(FileExistsError):
                    (self.site / part).symlink_to(Path(str(metadata.distribution(name).locate_file(part))))

    def save(self) -> None:
        """Keep all as it is now; no process runs."""
        self.end()
        shutil.rmtree(self.state / "server", ignore_errors=True)  # sockets can't be copied
        for name in PLACES:
            copy(self.folder / name, self.folder / "saved" / name)

    def restore(self) -> None:
        """Go back to what was saved; no process runs."""
        self.end()
        for name in PLACES:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            copy(self.folder / "saved" / name, self.folder / name)

    def upgrade(self) -> None:
        """Replace the earlier version by today's tree; git doesn't install what that needs, pip does."""
        if self.layout == "wheel":
            self.depend(self.new)
        self.put(self.new)

    def holdfast(self, *words: str, code: int | None = 0, **changes: str | None) -> Ended:
        """Run the command line as the model does; it ends with `code`, which None leaves open."""
        environ = self.environ(CLAUDE_CODE_SESSION_ID=SESSION, **changes)
        ended = processes.run([str(self.folder / "venv/bin/holdfast"), *words], b"", environ, self.root)
        assert code in (None, ended.exit_code), (words, ended)
        assert "Traceback" not in ended.stderr, (words, ended)
        return ended

    def registered(self, event: str) -> list[str]:
        """Return the command that the settings name for an event, as the client runs it."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_bytes())
        return ["/bin/sh", "-c", settings["hooks"][event][0]["hooks"][0]["command"]]

    def event(self, name: str, later: float = 0.0, **changes: Any) -> Ended:
        """Send a recorded payload through its registered command, some seconds later than now."""
        payload = self.payload(name, **({"transcript_path": ""} | changes))
        command, environ = (
            self.registered(payload["hook_event_name"]),
            self.environ(HOLDFAST_NOW=moment(later) if later else None),
        )
        return processes.run(command, processes.encoded(payload), environ, self.root)

    def interrupted(self, act: Callable[[], object], name: str, **changes: Any) -> Ended:
        """Send a payload of which a half has been read when something happens; the rest follows."""
        payload = self.payload(name, **({"transcript_path": ""} | changes))
        data, pipe = processes.encoded(payload), subprocess.PIPE
        options: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "cwd": self.root}
        with subprocess.Popen(self.registered(payload["hook_event_name"]), env=self.environ(), **options) as process:
            assert process.stdin
            process.stdin.write(data[: len(data) // 2])
            process.stdin.flush()
            waiting.until(lambda: not unread(process.stdin), "half of the payload is read")
            act()
            stdout, stderr = process.communicate(data[len(data) // 2 :], timeout=LONG_S)
        return Ended(process.returncode, stdout.decode(), stderr.decode(), 0.0)

    def agent(self, name: str, phase: str, later: float = 0.0) -> Ended:
        """Send one of an agent's two events, for a phase."""
        asked = {"description": phase, "subagent_type": PHASES[phase], "prompt": phase}
        return self.event(name, later, tool_use_id=f"toolu_{PHASES[phase]}", tool_input=asked)

    def bash(self, command: str, later: float = 0.0) -> Ended:
        """Send the event of a shell command that is about to run."""
        return self.event("PreToolUse-Bash", later, tool_input={"command": command})

    def pass_time(self, seconds: float) -> None:
        """Make what is compared with the clock older: what Holdfast keeps, and the folders of its package."""
        for top in (self.state, self.package, self.python.parent):
            for folder in (top, *top.parents):
                if folder.is_relative_to(self.folder):
                    older(folder, seconds)
            for path in top.rglob("*"):
                if path.is_dir() or top == self.state:
                    older(path, seconds)

    def family(self) -> list[int]:
        """Return the processes of this home that haven't ended."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                ended = (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                mine = f"HOME={self.home}".encode() in (process / "environ").read_bytes().split(b"\0")
                found += [int(process.name)] if mine and not ended else []
        return found

    def signal(self, number: int, *, servers: bool = False) -> None:
        """Send a signal to all processes of this home, or to those of servers only."""
        for pid in self.family():
            with suppress(OSError):
                if not servers or os.getsid(pid) != os.getsid(0):
                    os.kill(pid, number)

    def end(self) -> None:
        """Kill all processes of this home."""
        while self.family():
            self.signal(signal.SIGKILL)
            time.sleep(0.02)

    def install(self) -> None:
        """Install the new version; where it has a relay, a new server then answers."""
        self.holdfast("install", "--scope", "user")
        if self.layout == "wheel":
            self.warm()

    def warm(self) -> None:
        """Send events until a server answers them."""
        self.pass_time(60.0)  # a server that was started and killed just now isn't started again at once
        waiting.until(lambda: self.answering() not in ("", str(os.getsid(0))), "a server answers")

    def answering(self) -> str:
        """Return the session of the process that answers an event; a server has its own."""
        return self.event("UserPromptSubmit").advice.partition("Session ")[2].rstrip(".")


def unread(pipe: Any) -> int:
    """Return how many bytes of a pipe nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def older(path: Path, seconds: float) -> None:
    """Make a file or folder look as if it had changed some seconds earlier."""
    with suppress(FileNotFoundError):
        info = path.lstat()
        os.utime(path, (info.st_atime - seconds, info.st_mtime - seconds), follow_symlinks=False)


def moment(later: float) -> str:
    """Return the time some seconds from now."""
    return f"{datetime.now(UTC) + timedelta(seconds=later):%Y-%m-%dT%H:%M:%SZ}"


def closure(requirements: Iterable[str]) -> set[str]:
    """Return the names of installed distributions that meet requirements, with all that those require."""
    found, due = set[str](), list(requirements)
    while due:
        requirement = due.pop()
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if name not in found and "extra ==" not in requirement:
            with suppress(metadata.PackageNotFoundError):  # one of another platform's
                due += metadata.distribution(name).requires or ()
                found.add(name)
    return found


def files(folder: Path) -> set[Path]:
    """Return the paths of a folder's files, relative to it, without bytecode."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder) for path in found}


def replace(source: Path, target: Path, names: Iterable[Path]) -> None:
    """Make some files of a folder those of another one, as git does: what is equal stays as it is."""
    for name in sorted(names):
        new, old = source / name, target / name
        if new.exists() and old.exists() and new.read_bytes() == old.read_bytes():
            continue
        old.unlink(missing_ok=True)
        if new.exists():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new, old)


def denies(text: str = "") -> Check:
    """Check that a tool call or a prompt is refused, for a reason that contains a text."""

    def check(ended: Ended) -> bool:
        said = ended.reply.get("hookSpecificOutput", {}) | ended.reply
        refused = "deny" in said.get("permissionDecision", "") or said.get("decision") == "block"
        return refused and text in said.get("permissionDecisionReason", said.get("reason", ""))

    return check


def silent(ended: Ended) -> bool:
    """Check that nothing is printed."""
    return ended.stdout == ""


def advises(*texts: str) -> Check:
    """Check that the model is told some texts."""
    return lambda ended: all(text in ended.advice for text in texts)


def prints(text: str) -> Check:
    """Check that a text is printed that is no JSON."""
    return lambda ended: text in ended.stdout and ended.stdout[:1] != "{"


def read(ended: Ended) -> bool:
    """Check that what is printed can be read."""
    return not ended.stdout or bool(ended.reply)


def harmless(ended: Ended) -> bool:
    """Check that nothing is refused, and that what is printed can be read."""
    return ended.stdout[:1] != "{" or not denies()(ended)


def fault(where: str, ended: Ended, check: Check) -> list[str]:
    """Return a line that says what an event's answer should not be, or none; each ends with 0 and no word on stderr."""
    try:
        fine = (ended.exit_code, ended.stderr) == (0, "") and check(ended)
    except ValueError:
        fine = False
    return [] if fine else [f"{where}: {ended.exit_code} {ended.stdout!r} {ended.stderr!r}"]


COMMANDS = {"rm -rf /": denies("I say no"), "make deploy": denies("the team says no"), "ls": silent}
# server → what happens to it before the upgrade; it has answered the event before
SERVERS: dict[str, Callable[[World], None]] = {
    "alive": lambda world: None,
    "dead": lambda world: world.end(),
    "hanging": lambda world: world.signal(signal.SIGSTOP),
}


@pytest.fixture(scope="module", params=LAYOUTS, ids="-".join)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A home, saved, in which an earlier version is installed and a workflow is at its second phase."""
    revision, layout = request.param
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as short:  # for sockets
        made = make(revision, layout, Path(short).resolve())
        try:
            made.write(made.home / ".config/holdfast/handlers/mine.py", MINE)
            made.project_handler("team", TEAM)
            if layout == "wheel":
                made.write(made.home / ".claude/settings.json", SETTINGS)
            made.holdfast("handlers", "trust", "--yes")
            shutil.copytree(made.home, made.folder / "before" / "home")
            shutil.copytree(made.root, made.folder / "before" / "project")
            made.holdfast("install", "--scope", "user", "--allow-cli")
            made.event("SessionStart-startup")
            phases = [word for phase, kind in PHASES.items() for word in ("--phase", f"{phase} @{kind}")]
            made.holdfast("start", "Calculator", "--format", "hybrid", *phases)
            for name, phase in (("Pre", "Plan it"), ("Post", "Plan it"), ("Pre", "Build it")):
                made.agent(f"{name}ToolUse-Agent", phase)
            made.event("PreCompact-auto")
            assert made.statuses == ["completed", "active", "pending", "pending", "pending"]
            made.save()
            yield made
        finally:
            made.end()


def make(revision: str, layout: str, folder: Path) -> World:
    """Install an earlier version into an interpreter of its own; beside it lies today's tree."""
    made, old = World(folder / "home", folder / "project", layout, folder), folder / "trees" / "old"
    earlier_trees.unpack(revision, old)
    replace(ROOT, made.new, {path for part in earlier_trees.PARTS for path in below(ROOT, part)})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=LONG_S)
    made.depend(old)
    made.put(old)
    if layout == "checkout":
        shutil.copy(old / "pyproject.toml", folder / "checkout")
        (made.site / "_editable_impl_holdfast.pth").write_text(f"{made.package.parent}\n")
    made.write(
        made.site / "holdfast-0.1.0.dist-info/METADATA", "Metadata-Version: 2.4\nName: holdfast\nVersion: 0.1.0\n"
    )
    script = f"#!{made.python}\nimport sys\nfrom holdfast.cli import main\nsys.exit(main())\n"
    made.write(folder / "venv/bin/holdfast", script).chmod(0o755)
    (made.home / "run").mkdir(parents=True, mode=0o700)
    return made


def below(root: Path, part: str) -> set[Path]:
    """Return the path of a file, or of all files in a folder, relative to `root`."""
    return {Path(part) / name for name in files(root / part)} if (root / part).is_dir() else {Path(part)}


def answers(world: World, later: float, phase: str) -> Iterator[tuple[str, Ended, Check]]:
    """Yield events that come some seconds after the upgrade, in which the agent of a phase ends."""
    for command, check in COMMANDS.items():
        yield f"Bash {command}", world.bash(command, later), check
    yield "UserPromptSubmit", world.event("UserPromptSubmit", later), advises("Mind the gap.")
    yield "PostToolUse Bash", world.event("PostToolUse-Bash", later), silent
    yield f"{phase} starts", world.agent("PreToolUse-Agent", phase, later), harmless
    done = list(PHASES).index(phase)
    begun, then = ["completed"] * done, ["pending"] * (4 - done)
    yield f"{phase} ends", world.agent("PostToolUse-Agent", phase, later), harmless
    got, wanted = world.statuses, [*begun, "completed", "active", *then[1:]]
    yield f"the phases are {got}, not {wanted}", DONE, lambda _: got == wanted
    yield "PreCompact", world.event("PreCompact-auto", later), prints("Calculator")
    title = list(PHASES)[done + 1]
    yield "SessionStart", world.event("SessionStart-compact", later), advises("Calculator", f"{done + 2}/5", title)


@EVERY
def test_guards_refuse_and_events_are_answered_after_an_upgrade(world: World, every: bool) -> None:
    """By a new server or by none; the session and its agents go on with the workflow of the file."""
    faults = []
    for server in SERVERS if every or world.layout == "wheel" else ("alive",):
        world.restore()
        world.warm()
        SERVERS[server](world)
        world.upgrade()
        # Where the server died or hangs, another is started after a minute; later all is as with a living one.
        for when, (later, phase) in list(MOMENTS.items())[: None if every or server == "alive" else 2]:
            world.pass_time(later)
            for name, ended, check in answers(world, later, phase):
                faults += fault(f"{server}, {when}, {name}", ended, check)
        if faults or (server != "alive" and not every):
            continue
        world.install()
        for command, check in COMMANDS.items():
            faults += fault(f"{server}, installed again, {command}", world.bash(command, 3600.0), check)
    assert not faults, "\n".join(faults)


def copy(source: Path, target: Path) -> None:
    """Copy a folder, if there is one. Programs are linked: they are replaced and never changed in place."""
    how = shutil.copy2 if source.name in ("home", "project") else os.link
    if source.exists():
        shutil.copytree(source, target, symlinks=True, copy_function=how)


def half(world: World, *, first: bool) -> set[Path]:
    """Return the first half of the package's files, by name, or the second."""
    names = sorted(world.names())
    return set(names[: len(names) // 2] if first else names[len(names) // 2 :])


def empty(world: World) -> None:
    """Remove what is in the package's folder."""
    shutil.rmtree(world.package)
    world.package.mkdir()


def upgraded_and_killed(world: World) -> None:
    """Replace the package, then kill the server with all that it has started."""
    world.upgrade()
    world.signal(signal.SIGKILL, servers=True)


def cut(file: Path, share: float = 0.5) -> None:
    """Leave the first half of a file, or another share of it."""
    text = file.read_bytes()
    file.unlink()
    file.write_bytes(text[: int(len(text) * share)])


# what is done to the files of the earlier version → how, and whether Holdfast can't run then
HALVES: dict[str, tuple[Callable[[World], object], bool]] = {
    "no package": (lambda world: shutil.rmtree(world.package), True),
    "an empty package": (empty, True),
    "no relay.py": (lambda world: (world.package / "relay.py").unlink(), True),
    "an empty relay.py": (lambda world: cut(world.package / "relay.py", 0), True),
    "half a relay.py": (lambda world: cut(world.package / "relay.py"), True),
    "relay.py is new": (lambda world: world.renew([Path("relay.py")]), False),
    "all but relay.py is new": (lambda world: world.renew(world.names() - {Path("relay.py")}), False),
    "the first half is new": (lambda world: world.renew(half(world, first=True)), False),
    "the second half is new": (lambda world: world.renew(half(world, first=False)), False),
    "only new modules are missing": (lambda world: world.renew(world.names() & files(world.package)), False),
    "no engine.py": (lambda world: (world.package / "engine.py").unlink(), True),
    "no pluggy": (lambda world: (world.site / "pluggy").unlink(), True),
    "no shipped handlers": (lambda world: shutil.rmtree(world.handlers), False),
    "no interpreter": (lambda world: world.python.unlink(), True),
}
ALIVE = ("no package", "no relay.py", "the first half is new", "the second half is new")
"""The states of the files at which a server of the earlier version is alive as well; it ends once it sees them."""
UNGUARDED = ("PostToolUse-Bash", "PreCompact-auto", "SessionStart-startup")
"""Events that no guard is asked about, one for each state."""


def test_a_half_replaced_package_refuses_what_is_guarded(world: World) -> None:
    """Whatever is missing or mixed at that moment. Where nothing is guarded, nobody hears of it but the user."""
    faults = []
    whole = world.layout == "wheel"  # in a checkout only the launcher differs, which ALIVE suffices for
    for server, states in (("dead", tuple(HALVES) if whole else ALIVE), ("alive", ALIVE if whole else ())):
        for state in states:
            world.restore()
            act, gone = HALVES[state]
            if server == "alive":
                world.warm()
            act(world)
            sure = gone and server == "dead"  # else Holdfast may answer
            where = f"{server}, {state}"
            faults += fault(f"{where}, rm", world.bash("rm -rf /"), denies())
            faults += fault(f"{where}, ls", world.bash("ls"), denies() if sure else read)
            name = UNGUARDED[list(HALVES).index(state) % len(UNGUARDED)]
            faults += fault(f"{where}, {name}", world.event(name), silent if sure else harmless)
            if gone and (world.package / "relay.py").exists() and world.python.exists():
                # Without those the earlier version takes itself for removed after a minute.
                world.pass_time(3600.0)
                faults += fault(f"{where}, an hour later", world.bash("ls"), denies())
    assert not faults, "\n".join(faults)


# what happens while half of an event's payload has been read → whether a server answers it, and what happens
BEGUN: dict[str, tuple[bool, Callable[[World], object]]] = {
    "a server answers, the package is replaced": (True, lambda world: world.upgrade()),
    "a server answers, the package is missing": (True, lambda world: shutil.rmtree(world.package)),
    "a server answers, the package is replaced, the server is killed": (True, upgraded_and_killed),
    "a new server answers and is killed": (True, lambda world: world.signal(signal.SIGKILL, servers=True)),
    "no server answers, the package is replaced": (False, lambda world: world.upgrade()),
    "no server answers, the package is missing": (False, lambda world: shutil.rmtree(world.package)),
}


def test_an_event_that_has_begun_is_refused_whatever_happens_to_the_package(world: World) -> None:
    """By what is loaded already, or by what is left."""
    faults = []
    for name, (warm, act) in BEGUN.items():
        world.restore()
        if warm:
            world.warm()
        if "new server" in name:
            world.upgrade()
            world.install()
        asked: dict[str, Any] = {"tool_input": {"command": "rm -rf /"}}
        faults += fault(name, world.interrupted(partial(act, world), "PreToolUse-Bash", **asked), denies())
    assert not faults, "\n".join(faults)


def test_a_guard_that_the_earlier_version_knew_stays_known(world: World) -> None:
    """If its file breaks or vanishes; and what refuses for a missing package knows the guards of the new version."""
    faults = []
    mine = world.home / ".config/holdfast/handlers/mine.py"
    for name in ("broken", "gone"):
        world.restore()
        world.upgrade()
        mine.write_text("def")
        if name == "gone":
            mine.unlink()
        faults += fault(f"the guard is {name}", world.bash("ls"), denies("mine.py"))
    world.restore()
    world.upgrade()
    world.user_handler("second", SECOND)
    asked: dict[str, Any] = {"prompt": "my password is 1234"}
    faults += fault("a new guard", world.event("UserPromptSubmit", **asked), denies("no passwords"))
    world.end()
    world.package.rename(world.package.with_name("away"))
    faults += fault("a new guard, no package", world.event("UserPromptSubmit", **asked), denies())
    faults += fault("an earlier guard, no package", world.bash("ls"), denies())
    assert not faults, "\n".join(faults)


@EVERY
def test_install_and_uninstall_after_an_upgrade_leave_nothing(world: World, every: bool) -> None:
    """With a server that hangs, and also without an install of the new version. The memory stays until `forget`."""
    faults = []
    for install in (True, False) if every else (world.layout == "checkout",):
        world.restore()
        world.warm()
        world.signal(signal.SIGSTOP)
        world.upgrade()
        world.event("SessionStart-startup")
        if install:
            world.install()
            for command, check in COMMANDS.items():
                faults += fault(f"installed again, {command}", world.bash(command), check)
            found = json.loads(world.holdfast("doctor", "--json", code=None).stdout)["findings"]
            faults += [f"doctor: {each}" for each in found if each["level"] in ("error", "problem")]
        world.holdfast("uninstall", "--scope", "user")
        waiting.until(lambda: not world.family(), "no process is left")
        state = world.state.relative_to(world.home)
        assert {path for path in changed(world, "home") if not path.is_relative_to(state)} == set(), install
        world.holdfast("forget", "--everything", "--yes")
        kept = [path for path in world.state.rglob("*") if path.is_file() and b"Calculator" in path.read_bytes()]
        assert kept == [], install
        own = {"state/workflow.json", "state/.gitignore", "workflow_state_system.md"}
        assert changed(world, "project") == {Path(".claude") / name for name in own}, install
        world.holdfast("uninstall", "--scope", "user", "--purge", "--yes")
        assert not world.state.exists(), install
    assert not faults, "\n".join(faults)


def changed(world: World, name: str) -> set[Path]:
    """Return the files of the home or the project that aren't as before the first install."""
    before, now = world.folder / "before" / name, world.folder / name
    both = files(before) & files(now)
    differ = {path for path in both if (before / path).read_bytes() != (now / path).read_bytes()}
    return (files(before) ^ files(now)) | differ
