"""A plugin copy as the client runs it: its hooks in a shell, with a PATH that holds only what a test puts there."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import scopes
from holdfast.install.plugin import Copy
from holdfast.testkit import recorded
from tests import processes
from tests.processes import ROOT, Ended, Place
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ("sh", "env", "mkdir", "mv", "cat", "dirname", "readlink", "rm", "ls", "sleep")
PARTS = (".claude-plugin", "bin", "handlers", "hooks", "plugin", "skills", "src")
UV = """\
#!/bin/sh
echo "$*" >> {log}
env > {log}.env
pwd > {log}.pwd
while [ -e {log}.wait ]; do sleep 0.05; done
[ -e {log}.fail ] && cat {log}.fail >&2 && exit 1
for last in "$@"; do :; done
case "$*" in
"--no-config python find"*) exit 1 ;;
*" venv "*)
    mkdir -p "$last/bin"
    printf '#!/bin/sh\\nexec {python} "$@"\\n' > "$last/bin/python"
    /bin/chmod +x "$last/bin/python" ;;
esac
exit 0
"""
# An environment that knows where it is, as the real ones do, with the packages of the test's own interpreter.
VENV = """\
    {python} -m venv --without-pip "$last"
    echo {packages} > "$last"/lib/python3*/site-packages/packages.pth ;;
"""
REAL_UV = f"{UV[: UV.index('    mkdir')]}{VENV}{UV[UV.index('esac') :]}"
BOUND = """
import ctypes, os, sys
drop, override, search = 24, 1, 2
for right in (override, search):  # what is run next cannot get them back
    if os.getuid() == 0 and ctypes.CDLL(None).prctl(drop, right, 0, 0, 0):
        sys.exit("root cannot be bound by file modes here")
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass
class Plugin:
    """A plugin's copy with its data folder, a home and a project.

    Attributes:
        place: the home and the project.
        root: the plugin's folder.
        data: what the client sets as CLAUDE_PLUGIN_DATA.
        programs: the only folder on PATH.
        extra: variables beside the client's.
    """

    place: Place
    root: Path
    data: Path
    programs: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        """What a hook of the plugin's gets."""
        own = {"PATH": str(self.programs), "CLAUDE_PLUGIN_ROOT": str(self.root), "CLAUDE_PLUGIN_DATA": str(self.data)}
        return self.place.environ(**(own | self.extra))

    @property
    def environment(self) -> Path:
        """Where the environment of this copy's requirements lies."""
        with (self.root / "plugin" / "requirements.txt").open() as file:
            return self.data / f"env-{file.readline().split()[2]}"

    @property
    def calls(self) -> list[str]:
        """What the fake uv was asked."""
        log = self.programs / "uv.log"
        return log.read_text().splitlines() if log.exists() else []

    def command(self, event: str) -> str:
        """Return the registered command of an event."""
        hooks = json.loads((self.root / "hooks" / "hooks.json").read_text())["hooks"]
        return str(hooks[event][0]["hooks"][0]["command"])

    def fire(self, event: str, payload: dict[str, Any] | None = None, **changes: Any) -> Ended:
        """Run the registered command of an event as the client does."""
        first = "SessionStart-startup" if event == "SessionStart" else None
        name = first or next(name for name in recorded.names() if name.split("-")[0] == event)
        sent = payload or self.place.payload(name, **changes)
        command = ["/bin/sh", "-c", self.command(event)]
        return processes.run(command, json.dumps(sent).encode() + b"\n", self.environ, self.place.root)

    def fire_bound(self, event: str, name: str) -> Ended:
        """As `fire`, bound by the modes of files and folders even where root runs the tests."""
        sent = json.dumps(self.place.payload(name)).encode() + b"\n"
        return processes.run(bound("/bin/sh", "-c", self.command(event)), sent, self.environ, self.place.root)

    def cli(self, *arguments: str, bind: bool = False, **changes: str | None) -> Ended:
        """Run the plugin's `holdfast` as the model's Bash does: found on PATH, without the plugin's variables.

        With `bind` it is bound by the modes of files and folders even where root runs the tests.
        """
        environ = self.environ | {
            "PATH": f"{self.programs}:{self.root / 'bin'}",
            "HOLDFAST_PLUGIN_DATA": str(self.data),
        }
        environ.pop("CLAUDE_PLUGIN_DATA")
        environ.pop("CLAUDE_PLUGIN_ROOT")
        environ = {name: value for name, value in (environ | changes).items() if value is not None}
        command = ["/bin/sh", "-c", 'holdfast "$@"', "sh", *arguments]
        return processes.run(bound(*command) if bind else command, b"", environ, self.place.root)

    def add_python(self) -> None:
        """Put a usable Python on PATH."""
        self.program("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    def add_uv(self, *, fails: str = "", real: bool = False) -> None:
        """Put a fake uv on PATH that makes environments of the test's own interpreter, or fails with some words.

        The environments are programs that start that interpreter; with `real`, virtual environments.
        """
        log, packages = self.programs / "uv.log", sysconfig.get_path("purelib")
        self.program("uv", (REAL_UV if real else UV).format(log=log, python=sys.executable, packages=packages))
        (self.programs / "uv.log.fail").unlink(missing_ok=True)
        if fails:
            (self.programs / "uv.log.fail").write_text(fails + "\n")

    def program(self, name: str, text: str) -> None:
        """Put a program on PATH."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def build(self) -> None:
        """Start a session and wait until its environment is ready."""
        assert self.fire("SessionStart").stdout == ""
        until(lambda: (self.environment / "ready").exists())


def make(folder: Path, root: Path = ROOT) -> Plugin:
    """Make a home without an environment for the plugin at `root`; neither Python nor uv is on its PATH."""
    place = processes.make(folder)
    place.write(place.home / ".config" / "holdfast" / "holdfast.toml", "")  # the shipped handlers answer
    programs = folder / "programs"
    programs.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool, path="/bin:/usr/bin")
        assert found, tool
        (programs / tool).symlink_to(found)
    return Plugin(place, root, place.home / ".claude" / "plugins" / "data" / "holdfast-inline", programs)


def copy_of_plugin(folder: Path) -> Path:
    """Copy what makes the plugin, as the client's cache holds it."""
    for name in PARTS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def bound(*command: str) -> list[str]:
    """Return a command that obeys the modes of files and folders, also where root runs the tests."""
    return [sys.executable, "-c", BOUND, *command]


def enable(root: Path, *, name: str = "holdfast@holdfast", scope: str = "user", ready: bool = True) -> Copy:
    """Enable the plugin at `root` in the user's settings, as the client does, with an environment unless told not."""
    claude = scopes.claude_dir()
    settings = claude / "settings.json"
    found = json.loads(settings.read_text()) if settings.exists() else {}
    (claude / "plugins").mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps(found | {"enabledPlugins": {name: True}}))
    row = {"scope": scope, "installPath": str(root)}
    (claude / "plugins" / "installed_plugins.json").write_text(json.dumps({"plugins": {name: [row]}}))
    copy = Copy(root, claude / "plugins" / "data" / re.sub("[^a-z0-9]", "-", name), name, scope)
    if ready:
        (copy.environment / "bin").mkdir(parents=True)
        (copy.environment / "ready").write_text("{}\n")
        python = copy.environment / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
    return copy


def age(path: Path, seconds: float) -> None:
    """Make a file or folder look older."""
    then = time.time() - seconds
    os.utime(path, (then, then))
