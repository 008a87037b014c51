"""What `holdfast install` does besides registering: it checks the settings, and that an event is answered."""

from __future__ import annotations

import compileall
import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes, versions
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_client")

HOOK = {"type": "command", "command": "true"}
IGNORED: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"hooks": {"PreToolUse": [{"matcher": {"tools": ["Bash"]}, "hooks": [HOOK]}]}},
        "hooks.PreToolUse[0].matcher is an object, but should be a valid string",
    ),
    (
        {"hooks": {"PostToolUse": [{"matcher": 4, "hooks": [HOOK]}]}},
        "hooks.PostToolUse[0].matcher is 4, but should be a valid string",
    ),
    (
        {"hooks": {"PreToolUse": [{"hooks": HOOK}]}},
        "hooks.PreToolUse[0].hooks is an object, but should be a valid array",
    ),
    ({"disableAllHooks": "true"}, 'disableAllHooks is "true", but should be a valid boolean'),
    ({"cleanupPeriodDays": "30"}, 'cleanupPeriodDays is "30", but should be a valid number'),
    ({"statusLine": {}}, "statusLine.type is missing"),
    ({"statusLine": "date"}, 'statusLine is "date", but should be an object'),
    ({"model": 4}, "model is 4, but should be a valid string"),
    ({"permissions": {"defaultMode": "all"}}, "permissions.defaultMode is \"all\", but should be 'acceptEdits'"),
)


@pytest.fixture
def settings(root: Path) -> Path:
    """The path of the user's settings file."""
    file = scopes.target("user", root).settings
    file.parent.mkdir(parents=True)
    return file


def test_settings_that_the_client_would_ignore_are_refused(root: Path, settings: Path) -> None:
    """Install writes nothing, and both commands name the file, the path and the expected type."""
    wrong = []
    for content, words in IGNORED:
        settings.write_text(json.dumps(content))
        for command in ("install", "doctor"):
            said = holdfast(command, root=root, code=1)
            if words not in said.out + said.err or str(settings) not in paths_in(said.out + said.err):
                wrong.append(f"{command}, {content}: {said}")
            if "Registered" in said.out or settings.read_text() != json.dumps(content):
                wrong.append(f"{command} changed {content}")
    assert not wrong, "\n".join(wrong)


def paths_in(text: str) -> str:
    """Return a text with the user's home in full."""
    return text.replace("~/", f"{os.environ['HOME']}/")


def test_what_the_client_accepts_is_no_obstacle(root: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown keys, converted values, and an entry that only old clients take the whole file for."""
    monkeypatch.setattr(versions, "version", lambda: (2, 1, 332))
    odd = {"PostToolUse": [{"matcher": {}, "hooks": [HOOK]}], "NoSuchEvent": [{"matcher": 1}]}
    settings.write_text("\ufeff" + json.dumps({"env": {"NUMBER": 1}, "unknown": {"key": 1}, "hooks": odd}))
    (root / ".claude/settings.json").write_text('{"model": 4}')
    (root / ".claude/settings.local.json").mkdir()  # what can't be read is doctor's to say
    compiled: list[object] = []
    monkeypatch.setattr(compileall, "compile_dir", lambda folder, **options: compiled.append(folder))

    said = holdfast("install", root=root)

    assert compiled == [paths.package_root() / "holdfast"]

    assert "Tested: PreCompact" in said.out
    assert f"Warning: {settings}: Claude Code ignores this entry, because hooks.PostToolUse[0]" in paths_in(said.err)
    assert "settings.json: Claude Code ignores this whole file, because model is 4" in said.err
    assert not [path for path in paths.state_dir().rglob("*") if path.suffix in (".db", ".log")]


def test_a_home_that_forbids_programs_is_named(root: Path, settings: Path) -> None:
    """Where the launcher's folder is mounted with noexec, install fails and doctor doesn't advise another install."""
    folder = paths.launcher().parent
    folder.mkdir(parents=True)
    apart = ["unshare", "-m", *([] if os.geteuid() == 0 else ["-U", "-r"])]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("there are no mount namespaces here")
    run = f"{shlex.quote(sys.executable)} -m holdfast"
    script = f"mount -t tmpfs -o noexec none {folder} && {{ {run} install; echo exit $?; {run} doctor; }}"
    done = subprocess.run([*apart, "sh", "-c", script], cwd=root, capture_output=True, text=True, timeout=300)

    print(done.stdout, done.stderr)
    remedy = f"sudo mount -o remount,exec {folder}"
    install_out, _, doctor_out = paths_in(done.stdout).partition("exit 1\n")
    assert "survives" not in install_out
    assert remedy in paths_in(done.stderr)
    assert remedy in doctor_out
    assert "holdfast install" not in doctor_out
