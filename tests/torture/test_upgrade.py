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
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
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
    from holdfast import deny, hookimpl


    @hookimpl(strict=True)
    def on_user_prompt_submit(event):
        return deny("no passwords") if "password" in event.prompt else None
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
            if (self.folder / name).exists():
                shutil.copytree(self.folder / name, self.folder / "saved" / name, symlinks=True)

    def restore(self) -> None:
        """Go back to what was saved, and start the server of the earlier version."""
        self.end()
        for name in PLACES:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if (self.folder / "saved" / name).exists():
                shutil.copytree(self.folder / "saved" / name, self.folder / name, symlinks=True)
        self.warm()

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
        command, environ = self.registered(payload["hook_event_name"]), self.environ(HOLDFAST_NOW=moment(later))
        return processes.run(command, processes.encoded(payload), environ, self.root)

    def interrupted(self, act: Callable[[], None], name: str, **changes: Any) -> Ended:
        """Send a payload of which a half has been read when something happens; the rest follows."""
        payload = self.payload(name, **({"transcript_path": ""} | changes))
        data, pipe = processes.encoded(payload), subprocess.PIPE
        options: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "cwd": self.root}
        with subprocess.Popen(self.registered(payload["hook_event_name"]), env=self.environ(), **options) as process:
            assert process.stdin
            process.stdin.write(data[: len(data) // 2])
            process.stdin.flush()
            wait(lambda: not unread(process.stdin))
            act()
            with suppress(BrokenPipeError):
                stdout, stderr = process.communicate(data[len(data) // 2 :], timeout=LONG_S)
        return Ended(process.returncode, stdout.decode(), stderr.decode(), 0.0)

    def agent(self, name: str, phase: str, later: float = 0.0) -> Ended:
        """Send one of an agent's two events, for a phase."""
        asked = {"description": phase, "subagent_type": PHASES[phase], "prompt": phase}
        return self.event(name, later, tool_use_id=f"toolu_{PHASES[phase]}", tool_input=asked)

    def bash(self, command: str, later: float = 0.0) -> Ended:
        """Send the event of a shell command that is about to run."""
        return self.event("PreToolUse-Bash", later, tool_input={"command": command})

    def family(self) -> list[int]:
        """Return the processes of this home that haven't ended."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                ended = (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                mine = f"HOME={self.home}".encode() in (process / "environ").read_bytes().split(b"\0")
                found += [int(process.name)] if mine and not ended else []
        return found

    def signal(self, number: int) -> None:
        """Send a signal to all processes of this home."""
        for pid in self.family():
            with suppress(OSError):
                os.kill(pid, number)

    def end(self) -> None:
        """Kill all processes of this home."""
        while self.family():
            self.signal(signal.SIGKILL)
            time.sleep(0.02)

    def serves(self) -> bool:
        """Return whether a process of this home listens at a socket."""
        with suppress(OSError):
            listening = {
                f"socket:[{line.split()[6]}]"
                for line in Path("/proc/net/unix").read_text().splitlines()[1:]
                if line.split()[3] == "00010000"
            }
            for pid in self.family():
                for each in Path(f"/proc/{pid}/fd").iterdir():
                    with suppress(OSError):
                        if str(each.readlink()) in listening:
                            return True
        return False

    def warm(self) -> None:
        """Send events until a server answers them."""
        age(self.state, 60.0)  # a server that was started and killed just now isn't started again at once
        wait(lambda: f"Session {os.getsid(0)}" not in self.event("UserPromptSubmit").advice)


def wait(come: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + LONG_S
    while not come():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def unread(pipe: Any) -> int:
    """Return how many bytes of a pipe nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


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


def age(folder: Path, seconds: float) -> None:
    """Make all files of a folder older."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            info = path.lstat()
            times = (info.st_atime - seconds, info.st_mtime - seconds)
            os.utime(path, times, follow_symlinks=False)


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


def warns(text: str) -> Check:
    """Check that the user, and nobody else, is told a text."""
    return lambda ended: list(ended.reply) == ["systemMessage"] and text in ended.reply["systemMessage"]


def harmless(ended: Ended) -> bool:
    """Check that nothing is refused, and that what is printed can be read."""
    return not ended.stdout or not denies()(ended)


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


@pytest.fixture(params=LAYOUTS, ids="-".join)
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


def test_guards_refuse_and_events_are_answered_after_an_upgrade(world: World) -> None:
    """By a new server or by none; the session and its agents go on with the workflow of the file."""
    faults = []
    for server, act in SERVERS.items():
        world.restore()
        act(world)
        world.upgrade()
        for when, (later, phase) in MOMENTS.items():
            for name, ended, check in answers(world, later, phase):
                faults += fault(f"{server}, {when}, {name}", ended, check)
            age(world.state, 3600.0)
    assert faults == []
