"""The plugin: its manifest and registration, and the environment a copy builds for itself."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from holdfast import events, version
from holdfast.clients.claude.replies import EXIT_CODE_EVENTS
from holdfast.install import install, register
from plugin import build
from tests import pluginhome, processes
from tests.processes import ROOT
from tests.tables import each_row
from tests.waiting import until

if TYPE_CHECKING:
    from tests.pluginhome import Plugin

pytestmark = pytest.mark.slow

HOOKS = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
LOCK = (ROOT / "plugin" / "requirements.txt").read_text()
PINS = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = "# Current Workflow State\n\nWorkflow: Case Studies\nPhase: 1/2 - Write\n"
NETWORK = "error: Failed to fetch: `https://me:secret@index.example/simple/click/`"


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """A new user of the plugin, with Python and uv."""
    made = pluginhome.make(tmp_path)
    made.add_python()
    made.add_uv()
    return made


@pytest.fixture
def failing(plugin: Plugin) -> Plugin:
    """One whose network is down."""
    plugin.add_uv(fails=NETWORK)
    plugin.extra = {"PIP_NO_INDEX": "1"}
    return plugin


def report(plugin: Plugin) -> str:
    """Start sessions until one tells what went wrong, and return that."""
    until(lambda: (plugin.data / "report").exists())
    return str(plugin.fire("SessionStart").reply["systemMessage"])


# --- what is shipped ----------------------------------------------------------------------------------------------


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / ".claude-plugin" / name).read_text())
    return found


def test_the_manifest_is_the_distributions() -> None:
    """Name, version and license are those of pyproject.toml; the marketplace lists the plugin itself."""
    manifest, market = load("plugin.json"), load("marketplace.json")
    assert {name: manifest[name] for name in ("name", "version", "license")} == {
        name: PROJECT[name] for name in ("name", "version", "license")
    }
    (listed,) = market["plugins"]
    assert (listed["name"], listed["source"], market["name"]) == ("holdfast", "./", "holdfast")
    assert version.version() == PROJECT["version"]


def test_the_registration_is_what_the_shipped_handlers_want() -> None:
    """hooks.json, which is generated, has the same events and matchers as settings.example.json."""
    example = json.loads((ROOT / "settings.example.json").read_text())["hooks"]
    assert [(name, groups[0].get("matcher")) for name, groups in HOOKS.items()] == [
        (name, groups[0].get("matcher")) for name, groups in example.items()
    ]


def test_only_events_that_every_client_knows_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One unknown name makes the oldest client load none: whatever handlers want, it is left out."""
    assert set(HOOKS) <= events.OLDEST_CLIENT_EVENTS
    monkeypatch.setattr(register, "OLDEST_CLIENT_EVENTS", frozenset({"Stop"}))
    assert list(json.loads(register.bundled())["hooks"]) == ["Stop"]


@pytest.mark.parametrize("event", sorted(EXIT_CODE_EVENTS))
def test_a_command_of_the_plugins_passes_a_2_on_only_where_it_is_a_decision(event: str, tmp_path: Path) -> None:
    """As in the settings: any other end could refuse a tool call."""
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "run.sh").write_text("exit 2\n")
    environ = {"CLAUDE_PLUGIN_ROOT": str(tmp_path), "PATH": os.defpath}
    for name, code in ((event, 2), ("PreToolUse", 0)):
        done = subprocess.run(["/bin/sh", "-c", register.plugin_command(name)], env=environ, check=False)
        assert done.returncode == code


@pytest.mark.parametrize("missing", ["plugin/environment.sh", "hooks/dispatch.py", "src/holdfast/refuse.sh"])
def test_half_a_plugin_blocks_nothing(tmp_path: Path, missing: str) -> None:
    """The shell and Python end with 2 if they can't open a file. On these events that would be a decision."""
    half = pluginhome.make(tmp_path, pluginhome.copy_of_plugin(tmp_path / "copy"))
    if "dispatch" in missing:
        (half.environment / "bin").mkdir(parents=True)
        (half.environment / "ready").touch()
        (half.environment / "bin/python").symlink_to(sys.executable)
    (half.root / missing).unlink()
    for event in sorted(EXIT_CODE_EVENTS):
        command = ["/bin/sh", "-c", register.plugin_command(event)]
        ended = processes.run(command, b"{}", half.environ, half.place.root)
        assert (ended.exit_code, ended.stdout) == (0, ""), (event, ended)


def test_the_lock_is_in_step_with_the_project() -> None:
    """Every runtime dependency, and whatever it needs, is pinned to a version that fits, with hashes (make plugin)."""
    first, _, rest = LOCK.partition("\n")
    assert first == f"# environment {hashlib.sha256(rest.encode()).hexdigest()[:12]}"
    assert rest.startswith(f"# locks {', '.join(PROJECT['dependencies'])};")
    open_, seen = [Requirement(text) for text in PROJECT["dependencies"]], set()
    while open_:
        wish = open_.pop()
        name = wish.name.lower().replace("_", "-")
        assert wish.specifier.contains(PINS[name]), wish
        if name not in seen:
            seen.add(name)
            needs = [Requirement(text) for text in metadata.requires(name) or []]
            if metadata.version(name) != PINS[name]:  # a newer release may need more than the pinned one
                for need in needs:
                    need.specifier = SpecifierSet()
            open_ += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    assert seen == set(PINS)
    blocks = re.split(r"\n(?=[a-z])", LOCK)[1:]
    assert len(blocks) == len(PINS)
    assert all("--hash=sha256:" in block for block in blocks)


@each_row("script", ["bin/holdfast", "plugin/run.sh", "plugin/build.sh", "plugin/environment.sh"])
def test_the_scripts_are_for_any_shell(script: str) -> None:
    """They parse, and have no word that only some shells know."""
    done = subprocess.run(["/bin/sh", "-n", ROOT / script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    text = (ROOT / script).read_text()
    assert text.isascii()
    assert not re.findall(r"\[\[|\blocal\b|\bfunction\b|<<<|&>|\$'", text)
    assert os.access(ROOT / script, os.X_OK) == (script != "plugin/environment.sh")


def test_the_skill_may_call_what_install_allows() -> None:
    """The tools in its front matter are first the rules of `install --yes`, which match the plugin's command."""
    head = (ROOT / "skills" / "holdfast" / "SKILL.md").read_text().split("---")[1]
    assert f"allowed-tools: {', '.join(install.ALLOW_RULES)}, " in head
    assert all(rule.startswith("Bash(holdfast ") for rule in install.ALLOW_RULES)
    assert (ROOT / "bin" / "holdfast").exists()


# --- until the environment is ready -------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [name for name in HOOKS if name != "SessionStart"])
def test_until_it_is_ready_every_event_is_silence(plugin: Plugin, event: str) -> None:
    """Exit 0, not a word, and nothing is built or written."""
    ended = plugin.fire(event)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert not plugin.data.exists()
    assert not plugin.calls


@pytest.mark.parametrize("environment", ["none", "half-built"])
def test_until_it_is_ready_a_known_guard_refuses(plugin: Plugin, environment: str) -> None:
    """The shell refuses the guard's event in its project; other events and other projects stay silent."""
    why = "Holdfast's Python is missing"
    if environment == "half-built":
        why = "Holdfast did not answer"
        plugin.place.write(plugin.environment / "bin" / "python", "#!/bin/sh\nexit 1\n").chmod(0o755)
    memory = plugin.place.home / ".local/state/holdfast/strict"
    line = "PreToolUse\tBash\t{}\t/x/guard.py\tf\n"
    for root, refused in ((plugin.place.root, True), ("*", True), ("/elsewhere", False)):
        plugin.place.write(memory, line.format(root))
        ended = plugin.fire("PreToolUse")
        assert (ended.exit_code, bool(ended.stdout), ended.stderr) == (0, refused, "")
        if refused:
            assert ended.specific["permissionDecision"] == "deny"
            start = f"Refused: the strict handler guard.py could not check this, because {why}. "
            assert ended.specific["permissionDecisionReason"].startswith(start)
            build = f"To build it now: {plugin.root}/bin/holdfast --build\nTo lift this without Holdfast: "
            assert (build in ended.specific["permissionDecisionReason"]) == (environment == "none")
            assert plugin.fire("UserPromptSubmit").stdout == ""
    assert not plugin.calls


def test_a_session_start_is_not_kept_waiting(plugin: Plugin) -> None:
    """It returns, with its pipes closed, while the environment is still being built behind it."""
    (plugin.programs / "uv.log.wait").touch()
    ended = plugin.fire("SessionStart")  # a child that keeps stdout open would be waited for
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    until(lambda: bool(plugin.calls))
    assert plugin.fire("UserPromptSubmit").stdout == ""
    assert not (plugin.environment / "ready").exists()
    (plugin.programs / "uv.log.wait").unlink()
    until(lambda: (plugin.environment / "ready").exists())


def test_the_builder_survives_the_session(plugin: Plugin) -> None:
    """It leads a session of its own: no signal to the hook's group reaches it."""
    (plugin.programs / "uv.log.wait").touch()
    plugin.program("uv2", (plugin.programs / "uv").read_text())
    plugin.program("uv", f'#!/bin/sh\n{sys.executable} -c "import os; print(os.getsid(0))" > sid\nexec uv2 "$@"\n')
    plugin.fire("SessionStart")
    until(lambda: bool(plugin.calls))
    assert int((plugin.data / "sid").read_text()) != os.getsid(0)
    (plugin.programs / "uv.log.wait").unlink()
    until(lambda: (plugin.environment / "ready").exists())


def test_it_is_built_with_hashes_and_without_the_sessions_secrets(plugin: Plugin) -> None:
    """uv gets the plugin's own requirements, in the data folder, and of the environment only what it needs."""
    plugin.extra = {
        "ANTHROPIC_API_KEY": "secret",
        "CLAUDE_CODE_MESSAGING_TOKEN": "secret",
        "PYTHONPATH": "/hostile",
        "UV_CONFIG_FILE": "/hostile",
        "HTTPS_PROXY": "http://proxy:1",
        "PIP_INDEX_URL": "https://index.example/simple with 'quotes' and $HOME",
    }
    plugin.build()
    environ = dict(line.split("=", 1) for line in (plugin.programs / "uv.log.env").read_text().splitlines())
    assert environ["HTTPS_PROXY"] == "http://proxy:1"
    assert environ["PIP_INDEX_URL"] == plugin.extra["PIP_INDEX_URL"]
    assert environ["HOME"] == str(plugin.place.home)
    assert not {"ANTHROPIC_API_KEY", "CLAUDE_CODE_MESSAGING_TOKEN", "PYTHONPATH", "UV_CONFIG_FILE"} & set(environ)
    assert not [name for name in environ if name.startswith("CLAUDE")]
    assert (plugin.programs / "uv.log.pwd").read_text().strip() == str(plugin.data)
    make, installer = plugin.calls
    assert make.startswith("--no-config ") and " venv " in make
    assert installer.startswith("--no-config ")
    for option in ("--require-hashes", "--no-deps", "--only-binary :all:", f"{ROOT}/plugin/requirements.txt"):
        assert option in installer


def test_a_ready_environment_answers(plugin: Plugin) -> None:
    """`ready` names version, root and interpreter; from then on the handlers answer, with that interpreter."""
    plugin.build()
    ready = json.loads((plugin.environment / "ready").read_text())
    assert (ready["version"], ready["root"]) == (PROJECT["version"], str(ROOT))
    assert ready["interpreter"] == str(plugin.environment / "bin" / "python")
    plugin.place.write("CLAUDE.local.md", WORKFLOW)
    assert "Case Studies" in plugin.fire("PreCompact").stdout
    ended = plugin.fire("SessionStart", plugin.place.payload("SessionStart-compact", transcript_path=""))
    assert "WORKFLOW RESTORED" in ended.advice
    assert len(plugin.calls) == 2, "nothing is built again"
    assert not [line for line in plugin.place.log().splitlines() if " info " not in line]


def test_many_sessions_build_once(plugin: Plugin) -> None:
    """Those that start meanwhile leave it to the first."""
    (plugin.programs / "uv.log.wait").touch()
    for _ in range(4):
        plugin.fire("SessionStart")
    until(lambda: bool(plugin.calls))
    (plugin.programs / "uv.log.wait").unlink()
    until(lambda: (plugin.environment / "ready").exists())
    plugin.fire("SessionStart")
    assert len(plugin.calls) == 2


@pytest.mark.parametrize("damage", ["half-built", "python gone"])
def test_what_is_no_longer_sound_is_built_again(plugin: Plugin, damage: str) -> None:
    """Without `ready`, or with an interpreter that is gone, an environment counts for nothing."""
    plugin.build()
    (plugin.environment / "left.over").touch()
    (plugin.environment / ("ready" if damage == "half-built" else "bin/python")).unlink()
    assert plugin.fire("Stop").stdout == ""
    plugin.fire("SessionStart")
    until(lambda: build.sound(plugin.environment))
    assert not (plugin.environment / "left.over").exists()


def test_an_update_that_needs_other_packages_gets_its_own_environment(plugin: Plugin, tmp_path: Path) -> None:
    """A new version is silent until its own is ready; a session of the old one keeps the old; older ones go."""
    plugin.build()
    first, environments = plugin.environment, [plugin.environment]
    for number in (1, 2):
        plugin.root = pluginhome.copy_of_plugin(tmp_path / f"v{number}")
        text = (plugin.root / "plugin" / "requirements.txt").read_text()
        (plugin.root / "plugin" / "requirements.txt").write_text(
            text.replace("# environment ", f"# environment {number}")
        )
        pluginhome.age(environments[-1], 3600 / number)
        assert plugin.cli("--version").exit_code == 0
        assert build.sound(plugin.environment)
        environments.append(plugin.environment)
    assert not first.exists()
    assert [path.exists() for path in environments] == [False, True, True]
    plugin.root = tmp_path / "v1"
    plugin.place.write("CLAUDE.local.md", WORKFLOW)
    assert "Case Studies" in plugin.fire("PreCompact").stdout


def test_an_update_that_needs_the_same_packages_is_ready_at_once(plugin: Plugin, tmp_path: Path) -> None:
    """The environment has only packages; the code is the new folder's own."""
    plugin.build()
    plugin.root = pluginhome.copy_of_plugin(tmp_path / "new version")
    (plugin.root / "src" / "holdfast" / "engine.py").write_text(
        "def main(argument, entry):\n    print(__file__, flush=True)\n    return 0\n"
    )
    assert plugin.fire("Stop").stdout == f"{plugin.root}/src/holdfast/engine.py\n"
    assert len(plugin.calls) == 2


def test_names_with_blanks_and_quotes_will_do(tmp_path: Path) -> None:
    """Wherever home and plugin lie."""
    folder = tmp_path / 'it\'s $HOME "quoted" `id`'
    folder.mkdir()
    plugin = pluginhome.make(folder, pluginhome.copy_of_plugin(folder / "the plugin"))
    plugin.add_python()
    log = folder / "programs" / "uv.log"
    plugin.add_uv()
    plugin.program(
        "uv",
        pluginhome.UV.format(
            log=f"'{str(log).replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'", python=sys.executable
        ),
    )
    plugin.build()
    plugin.place.write("CLAUDE.local.md", WORKFLOW)
    assert "Case Studies" in plugin.fire("PreCompact").stdout
    assert plugin.cli("--version").stdout == f"holdfast, version {PROJECT['version']}\n"


def test_nothing_of_the_project_is_run(plugin: Plugin) -> None:
    """Modules, a pip folder and a uv.toml planted in the current folder are never loaded, before and after."""
    for name in ("json", "site", "build", "pip", "holdfast", "pydantic", "sitecustomize", "fcntl", "subprocess"):
        plugin.place.write(f"{name}.py", f"open({str(plugin.place.home / 'ran')!r}, 'a').write({name!r})\n")
    plugin.build()
    plugin.fire("Stop")
    assert plugin.cli("status").exit_code == 0
    assert not (plugin.place.home / "ran").exists()


@pytest.mark.parametrize("data", ["", "relative"])
def test_without_a_data_folder_there_is_silence(plugin: Plugin, data: str) -> None:
    """A client that names none."""
    plugin.extra = {"CLAUDE_PLUGIN_DATA": data}
    for event in ("SessionStart", "Stop"):
        ended = plugin.fire(event)
        assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert not plugin.calls


# --- what may go wrong --------------------------------------------------------------------------------------------


def test_a_failure_is_told_once_with_the_remedy(failing: Plugin) -> None:
    """At the next session start, to the user; not to the model, not twice, and without a password."""
    assert failing.fire("SessionStart").stdout == ""
    text = report(failing)
    for words in ("uv: error: Failed to fetch", "index.example", "pip: ERROR", "HTTPS_PROXY", "holdfast --build"):
        assert words in text
    assert "secret" not in text
    calls = len(failing.calls)
    for _ in range(2):
        assert failing.fire("SessionStart").stdout == ""
    assert not failing.fire("Stop").stdout
    said = failing.cli("status")
    assert (said.exit_code, said.stdout) == (1, "")
    assert "Failed to fetch" in said.stderr
    assert len(failing.calls) == calls, "it is not tried again at every session or command"
    assert not failing.environment.exists()


def test_it_is_tried_again_by_itself_later_and_at_once_when_asked(failing: Plugin) -> None:
    """The network is back: the next try is the end of it."""
    failing.fire("SessionStart")
    report(failing)
    failed = failing.data / "failed"
    failing.add_uv()
    known = json.loads(failed.read_text())
    failed.write_text(json.dumps(known | {"not_before": 0}))
    failing.build()
    until(lambda: sorted(path.name for path in failing.data.iterdir()) == [failing.environment.name, "lock"])
    (failing.environment / "ready").unlink()
    failed.write_text(json.dumps(known))
    assert failing.cli("status").exit_code == 1
    said = failing.cli("--build")
    assert (said.exit_code, said.stdout) == (0, f"The plugin's environment is ready: {failing.environment}\n")


def fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> tuple[int, dict[str, Any]]:
    """Have a build fail in process; return its exit code and what is kept of it."""

    def make(root: Path, environment: Path) -> str:
        raise build.BuildError(words)

    monkeypatch.setattr(build, "make", make)
    monkeypatch.chdir(tmp_path)
    code = build.main(ROOT, tmp_path, "now")
    return code, json.loads((tmp_path / "failed").read_text())


def test_the_pauses_between_tries_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour, six, a day; the same words are told once, other ones again."""
    monkeypatch.setattr(time, "time", lambda: 1e9)
    pauses = []
    for _ in range(4):
        code, known = fails(tmp_path, monkeypatch, "no route")
        assert code == 1
        pauses.append(known["not_before"] - 1e9)
        told = (tmp_path / "report").exists()
        (tmp_path / "report").unlink(missing_ok=True)
        assert told == (len(pauses) == 1)
    assert pauses == [3600, 6 * 3600, 24 * 3600, 24 * 3600]
    fails(tmp_path, monkeypatch, "disk full")
    assert "disk full" in (tmp_path / "report").read_text()


def test_a_clock_set_back_does_not_stop_it_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time to wait for that lies further away than any pause is none."""
    fails(tmp_path, monkeypatch, "no route")
    digest = build.wanted(ROOT)
    assert build._failed(tmp_path, digest)
    assert build._failed(tmp_path, "other requirements") is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 2 * 24 * 3600)
    assert build._failed(tmp_path, digest) is None


@each_row(
    "words, remedy",
    [
        ("The virtual environment was not created successfully because ensurepip is not available.", "python3-venv"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. hash", "index settings"),
        ("[Errno 28] No space left on device", "Make room"),
        (
            "uv: error: No space left on device (os error 28); pip: The virtual environment was not created"
            " successfully because ensurepip is not available.",
            "Make room",
        ),
        ("OSError: [Errno 122] Disk quota exceeded: '/x'", "Make room"),
        ("PermissionError: [Errno 13] Permission denied: '/x'", "Give yourself access"),
        ("ERROR: No matching distribution found for click==8.5.1", "HTTPS_PROXY"),
    ],
)
def test_each_kind_of_failure_has_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, remedy: str
) -> None:
    """What to do stands in the message, with what happened."""
    _, known = fails(tmp_path, monkeypatch, words)
    assert words in known["text"]
    assert remedy in known["text"]


def test_what_ensurepip_fails_of_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """venv itself hides it: on a full disk it would only say that ensurepip failed."""

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if "ensurepip" in command:
            said = (
                "Looking in links: /tmp/x\nERROR: Could not install packages due to an OSError: [Errno 28] No space "
                "left on device\n\nTraceback (most recent call last):\nsubprocess.CalledProcessError: Command '[...]'"
            )
            return subprocess.CompletedProcess(command, 1, "", said)
        if "venv" in command and "--without-pip" not in command:
            said = (
                "Error: Command '['/x/bin/python', '-Im', 'ensurepip', '--upgrade']' returned non-zero exit status 1."
            )
            return subprocess.CompletedProcess(command, 1, said, "")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(tmp_path)
    assert build.main(ROOT, tmp_path, "now") == 1
    known = json.loads((tmp_path / "failed").read_text())
    assert known["words"].startswith("pip: ERROR: Could not install packages due to an OSError: [Errno 28] No space")
    assert f"Make room in {tmp_path}" in known["text"]


def test_where_nothing_can_be_kept_it_is_said_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the disk quite full; no half-written file is left, and no pause is claimed that nobody will know of."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def make(root: Path, environment: Path) -> str:
        raise build.BuildError("[Errno 28] No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(build, "make", make)
    monkeypatch.chdir(tmp_path)
    assert build.main(ROOT, tmp_path, "wait") == 1
    said = capsys.readouterr().err
    assert f"Make room in {tmp_path}" in said
    assert said.endswith(f"The next session tries again, {ROOT}/bin/holdfast --build at once.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


LOCKED_OUT = {
    "read-only": "Permission denied",
    "closed": "give yourself access to that folder",
    "a lock that is a folder": "Is a directory",
    "a file in its place": "cannot be made",
}


@pytest.mark.parametrize("how", LOCKED_OUT)
@pytest.mark.parametrize("arguments", [["status"], ["--build"]])
def test_a_data_folder_that_cannot_be_used_is_one_sentence(plugin: Plugin, how: str, arguments: list[str]) -> None:
    """It names the folder and what to do; once that is done the command works."""
    plugin.data.parent.mkdir(parents=True)
    if how == "a file in its place":
        plugin.data.touch()
    else:
        plugin.data.mkdir(mode={"read-only": 0o555, "closed": 0o600}.get(how, 0o755))
    if how == "a lock that is a folder":
        (plugin.data / "lock").mkdir()

    said = plugin.cli(*arguments, bind=True)

    assert (said.exit_code, said.stdout) == (1, "")
    assert said.stderr.count("\n") == 1
    assert said.stderr.startswith("holdfast: the plugin's environment cannot be built")
    assert str(plugin.data) in said.stderr
    assert LOCKED_OUT[how] in said.stderr
    assert not plugin.calls
    if plugin.data.is_dir():
        plugin.data.chmod(0o755)
        shutil.rmtree(plugin.data)
    else:
        plugin.data.unlink()
    assert plugin.cli(*arguments, bind=True).exit_code == 0


@pytest.mark.parametrize("how", ["read-only", "a file in its place"])
def test_a_data_folder_that_cannot_be_used_is_told_when_a_session_begins(plugin: Plugin, how: str) -> None:
    """Nothing can be noted there, so it is told each time; but not when a session goes on, and at no other event."""
    plugin.data.parent.mkdir(parents=True)
    if how == "read-only":
        plugin.data.mkdir(mode=0o555)
    else:
        plugin.data.touch()
    for _ in range(2):
        ended = plugin.fire_bound("SessionStart", "SessionStart-startup")
        assert (ended.exit_code, ended.stderr) == (0, "")
        assert list(ended.reply) == ["systemMessage"]
        assert f"because {plugin.data} cannot be made or written" in ended.reply["systemMessage"]
        assert "Give yourself write access to it" in ended.reply["systemMessage"]
    for event, name in (("SessionStart", "SessionStart-compact"), ("Stop", "Stop")):
        ended = plugin.fire_bound(event, name)
        assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert not plugin.calls


def test_a_name_that_json_would_escape_is_left_out(plugin: Plugin, tmp_path: Path) -> None:
    """Whatever the folder is called, the client can read what is said."""
    (tmp_path / "file").touch()
    for name in ('a "b"', "a\\b", "a\nb", "a\tb"):
        plugin.extra = {"CLAUDE_PLUGIN_DATA": str(tmp_path / "file" / name)}
        assert "because its data folder cannot be made" in plugin.fire("SessionStart").reply["systemMessage"]


def test_a_lock_that_cannot_be_had_is_told_once(plugin: Plugin) -> None:
    """At the next session start, like any other failure; it is tried at each."""
    (plugin.data / "lock").mkdir(parents=True)
    plugin.fire("SessionStart")
    text = report(plugin)
    assert text.startswith(f"Holdfast: the plugin's environment cannot be built in {plugin.data} ({plugin.data}/lock: ")
    for _ in range(2):
        assert plugin.fire("SessionStart").stdout == ""
    (plugin.data / "lock").rmdir()
    plugin.build()


@each_row("python", ["none", "too old", "broken"])
def test_no_usable_python_is_told_once(tmp_path: Path, python: str) -> None:
    """Also by the command; as soon as there is one it is used, without being asked."""
    plugin = pluginhome.make(tmp_path)
    if python != "none":
        plugin.program("python3", f"#!/bin/sh\nexit {1 if python == 'too old' else 127}\n")
    assert plugin.fire("SessionStart").stdout == ""
    assert "needs Python 3.11 or newer" in report(plugin)
    for _ in range(2):
        assert plugin.fire("SessionStart").stdout == ""
    said = plugin.cli("status")
    assert (said.exit_code, said.stdout) == (1, "")
    assert "needs Python 3.11" in said.stderr
    plugin.add_python()
    plugin.add_uv()
    plugin.build()
    assert not (plugin.data / "no-python").exists()


def test_sessions_that_start_together_tell_it_once(tmp_path: Path) -> None:
    """The mark that it was told is there before the report is: a session that starts in between finds it."""
    plugin = pluginhome.make(tmp_path)
    (plugin.programs / "mv").unlink()
    seen = tmp_path / "seen"
    plugin.program("mv", f'#!/bin/sh\n[ -e "{plugin.data}/no-python" ] || echo unmarked > "{seen}"\n/bin/mv "$@"\n')
    build = ["/bin/sh", str(plugin.root / "plugin" / "build.sh"), str(plugin.root), str(plugin.data), "quietly"]
    plugin.data.mkdir(parents=True)

    for _ in range(2):
        processes.run(build, b"", plugin.environ, plugin.place.root)

    assert not seen.exists()
    assert sorted(each.name for each in plugin.data.iterdir()) == ["no-python", "report"]


def test_a_python_that_only_uv_knows_will_do(tmp_path: Path) -> None:
    """Without one on PATH, uv's own is found."""
    plugin = pluginhome.make(tmp_path)
    plugin.add_uv()
    text = (plugin.programs / "uv").read_text()
    plugin.program(
        "uv", text.replace('"--no-config python find"*) exit 1', f'"--no-config python find"*) echo {sys.executable}')
    )
    plugin.build()
    assert plugin.calls[0].startswith("--no-config python find")


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_waits_for_a_build(plugin: Plugin) -> None:
    """The model may call it seconds after the first session began: it comes as soon as it can."""
    plugin.fire("SessionStart")
    ended = plugin.cli("start", "User auth", "--phase", "Design", "--phase", "Build")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert json.loads(plugin.cli("status", "--json").stdout)["workflows"]
    assert len(plugin.calls) == 2


def test_the_command_finds_the_environment_by_itself(plugin: Plugin) -> None:
    """Through a link, and without the variable that a session start sets: in the client's folder."""
    plugin.build()
    link = plugin.programs / "hf"
    link.symlink_to(ROOT / "bin" / "holdfast")
    environ = {"PATH": str(plugin.programs), "HOME": str(plugin.place.home)}
    done = subprocess.run([link, "--version"], env=environ, cwd="/", capture_output=True, text=True, check=False)
    assert done.stdout == f"holdfast, version {PROJECT['version']}\n"
    done = subprocess.run(
        ["bin/holdfast", "--help"], env=environ, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("Usage: holdfast ")
    moved = environ | {"CLAUDE_CONFIG_DIR": str(plugin.place.home / ".claude"), "HOME": "/nowhere"}
    assert subprocess.run([link, "--version"], env=moved, capture_output=True, check=False).returncode == 0


def test_the_command_says_when_there_was_no_session_yet(plugin: Plugin) -> None:
    """Without a data folder nothing can be built."""
    ended = plugin.cli("status", HOLDFAST_PLUGIN_DATA=None)
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "when a session of Claude Code starts" in ended.stderr


def test_what_is_named_is_built_though_another_is_ready(plugin: Plugin) -> None:
    """`--build` builds the folder it is told of; without one, the first that is not ready."""
    plugin.build()
    named = plugin.data.with_name("holdfast-named")
    another = plugin.data.with_name("holdfast-other")
    for folder in (named, another):
        folder.mkdir()
    said = plugin.cli("--build", HOLDFAST_PLUGIN_DATA=str(named))
    assert said.stdout == f"The plugin's environment is ready: {named / plugin.environment.name}\n"
    assert build.sound(named / plugin.environment.name)
    said = plugin.cli("--build", HOLDFAST_PLUGIN_DATA=None)
    assert said.stdout == f"The plugin's environment is ready: {another / plugin.environment.name}\n"
    assert plugin.cli("--build", HOLDFAST_PLUGIN_DATA=None).exit_code == 0


def test_another_plugins_folder_is_not_built_in(plugin: Plugin, tmp_path: Path) -> None:
    """A hook of another plugin may call the command; what the client names then is not ours."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    plugin.data.mkdir(parents=True)
    said = plugin.cli(
        "status", CLAUDE_PLUGIN_ROOT=str(tmp_path), CLAUDE_PLUGIN_DATA=str(foreign), HOLDFAST_PLUGIN_DATA=None
    )
    assert said.exit_code == 0
    assert not [*foreign.iterdir()]
    assert build.sound(plugin.environment)


def test_a_folder_that_a_session_could_not_make_is_made(plugin: Plugin) -> None:
    """What stood in its place is gone: the command need not wait for the next session."""
    assert plugin.cli("status").exit_code == 0
    assert build.sound(plugin.environment)


def test_the_doctor_fires_the_plugins_own_hooks(tmp_path: Path) -> None:
    """Alone, its copy is all there is to run: nobody is sent to install."""
    plugin = pluginhome.make(tmp_path, pluginhome.copy_of_plugin(tmp_path / "copy"))
    plugin.add_python()
    plugin.add_uv(real=True)
    plugin.build()
    ended = plugin.cli("doctor", "--fire", "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["problems"], told["notices"]) == (0, 0, 0), told
    fired = {each["text"].partition(" ")[0]: each for each in told["findings"] if each["check"] == "fire"}
    assert set(fired) == set(HOOKS)
    assert {each["level"] for each in fired.values()} == {"ok"}
    assert f"of the plugin in {plugin.root}: " in fired["PreCompact"]["text"]
    assert "characters" in fired["PreCompact"]["text"]
    (environment,) = [each["text"] for each in told["findings"] if each["check"] == "plugin"]
    assert environment.startswith(f"the plugin in {plugin.root} answers from its environment {plugin.environment}, ")


def test_a_session_start_tells_the_command_where(plugin: Plugin) -> None:
    """The client's environment file gets one line, once."""
    file = plugin.place.home / "env.sh"
    file.touch()
    plugin.extra = {"CLAUDE_ENV_FILE": str(file)}
    plugin.build()
    for _ in range(2):
        plugin.fire("SessionStart")
    assert file.read_text().count(f"export HOLDFAST_PLUGIN_DATA='{plugin.data}'\n") == 1
    assert "HOLDFAST_PROJECT_DIR" in file.read_text()


# --- a real one ---------------------------------------------------------------------------------------------------


def wheelhouse(folder: Path, names: list[str]) -> str:
    """Pack what this interpreter has installed into wheels again; return requirements with their hashes."""
    folder.mkdir()
    lines = []
    for name in names:
        found = metadata.distribution(name)
        tags = re.findall(r"^Tag: (\S+)$", found.read_text("WHEEL") or "", re.MULTILINE)
        stem = f"{found.metadata['Name'].replace('-', '_')}-{found.version}"
        files = [file for file in found.files or [] if ".." not in file.parts and "__pycache__" not in file.parts]
        kept = [file for file in files if file.name not in ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")]
        wheel = folder / f"{stem}-{tags[0]}.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            for file in kept:
                packed.write(str(file.locate()), str(file))
            info = next(file.parts[0] for file in files if file.parts[0].endswith(".dist-info"))
            packed.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in kept))
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f"{name}=={found.version} --hash=sha256:{digest}\n")
    return "".join(lines)


def test_it_really_builds_with_pip_where_uv_fails(tmp_path: Path) -> None:
    """venv, pip, hashes and all, without a network: the environment runs this copy's code and nobody else's."""
    plugin = pluginhome.make(tmp_path, pluginhome.copy_of_plugin(tmp_path / "copy"))
    plugin.add_python()
    plugin.add_uv(fails=NETWORK)
    body = wheelhouse(tmp_path / "wheels", sorted(PINS))
    (plugin.root / "plugin" / "requirements.txt").write_text(f"# environment feedfeedfeed\n{body}")
    plugin.extra = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    plugin.build()
    assert json.loads((plugin.environment / "ready").read_text())["built_by"] == "pip"
    plugin.place.write("CLAUDE.local.md", WORKFLOW)
    assert "Case Studies" in plugin.fire("PreCompact").stdout
    listed = json.loads(plugin.cli("handlers", "list", "--json").stdout)
    assert {Path(row["file"]).parent for rows in listed["events"].values() for row in rows} == {
        plugin.root / "handlers"
    }
    said = plugin.cli("install")
    assert said.exit_code == 0, said.stderr
    run = (plugin.place.home / ".local/share/holdfast/run").read_text()
    assert str(plugin.environment / "bin" / "python") in run
    moved = plugin.root.rename(tmp_path / "updated")
    plugin.root = moved
    plugin.fire("SessionStart")
    assert str(moved / "src") in (plugin.place.home / ".local/share/holdfast/run").read_text()


@pytest.mark.parametrize("hashes", ["another", "none"])
def test_what_has_not_the_hash_is_refused(tmp_path: Path, hashes: str) -> None:
    """Whatever the index gives: only what the plugin names is installed."""
    plugin = pluginhome.make(tmp_path, pluginhome.copy_of_plugin(tmp_path / "copy"))
    plugin.add_python()
    line = wheelhouse(tmp_path / "wheels", ["pluggy"]).split(" --hash")[0]
    if hashes == "another":
        line += f" --hash=sha256:{'0' * 64}"
    (plugin.root / "plugin" / "requirements.txt").write_text(f"# environment feedfeedfeed\n{line}\n")
    plugin.extra = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    said = plugin.cli("status", HOLDFAST_PLUGIN_DATA=str(tmp_path))
    assert said.exit_code == 1
    assert "HASHES" in said.stderr.upper()
    assert not (tmp_path / "env-feedfeedfeed").exists()
