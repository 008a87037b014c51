"""Holdfast as a plugin: it builds its own environment, works alone, and delivers once if settings register it too."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests import pluginhome
from tests.client.model import agent, bash, call, say
from tests.client.runner import SYSTEM_PATH
from tests.client.test_compaction import FACTS, HEADING, SUMMARY, begin, guidance
from tests.processes import ROOT
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.runner import Session
    from tests.client.world import World

pytestmark = pytest.mark.scenario(8)
MEMORY = "# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: 4/10 - SEO Generation\n"
CLI = ("--allowedTools", "Bash(holdfast:*)")


@dataclass
class Plugged:
    """A world with the plugin in it, whose environment is built without a network, from the test's own packages."""

    world: World
    root: Path
    data: Path

    def session(self, *arguments: str) -> Session:
        """Start a session with the plugin."""
        return self.world.client.session("--plugin-dir", str(self.root), *arguments)

    @property
    def ready(self) -> bool:
        """Whether the environment is there."""
        return any(self.data.glob("env-*/ready"))

    def build(self) -> None:
        """Have a first session, which says nothing, and wait for what it starts."""
        session = self.session()
        session.prompt("Begin.")
        session.close()
        assert not said(session)
        until(lambda: self.ready)
        self.world.model.requests.clear()


def said(session: Session) -> list[str]:
    """Return what hooks of a session printed."""
    answers = [line for line in session.lines if line.get("subtype") == "hook_response"]
    return [str(line[key]) for line in answers for key in ("stdout", "stderr") if line.get(key)]


@pytest.fixture
def plugged(bare: World, tmp_path: Path) -> Plugged:
    """The plugin from this checkout, and a uv that needs no network."""
    programs = tmp_path / "programs"
    programs.mkdir()
    uv = programs / "uv"
    uv.write_text(pluginhome.UV.format(log=programs / "uv.log", python=sys.executable))
    uv.chmod(0o755)
    bare.client.extra = {"PATH": f"{programs}:{SYSTEM_PATH}"}
    return Plugged(bare, ROOT, bare.client.config / "plugins" / "data" / "holdfast-inline")


def run(world: World, *arguments: str) -> str:
    """Run a command of the client's."""
    command = [str(world.client.binary), *arguments]
    done = subprocess.run(
        command,
        env=world.client.environ,
        cwd=world.project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("part", ["", ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"])
def test_client_validates_the_plugin(bare: World, part: str) -> None:
    """`claude plugin validate`, the folder and its two manifests."""
    printed = run(bare, "plugin", "validate", str(ROOT / part))
    assert "Validation passed" in printed
    assert "with warnings" not in printed


def test_the_plugin_alone_is_enough(plugged: Plugged) -> None:
    """After a first silent session: the summary's instructions, the guidance, once, and the command for the model."""
    plugged.build()
    world = plugged.world
    (world.project / "CLAUDE.local.md").write_text(MEMORY)
    session = plugged.session(*CLI)
    session.prompt("Begin.")
    session.prompt("Work.")
    session.prompt("/compact")
    world.model.turns = [bash("holdfast done --note over"), bash("holdfast status --json"), say("Done.")]
    session.prompt("Go on.")
    after = next(each for each in world.model.of("main") if HEADING in each.text)
    assert after.text.count(HEADING) == 1
    assert "Phase: 4/10 - SEO Generation" in guidance(after.text)
    assert SUMMARY in world.model.of("summary")[0].last
    (listed,) = world.model.of("main")[-1].results().values()
    assert '"Page Orchestration"' in listed
    assert not world.complaints
    assert not world.settings.exists()


@pytest.mark.parametrize("form", ["hybrid", pytest.param("compaction", marks=pytest.mark.nightly)])
def test_plugin_and_settings_deliver_guidance_once(plugged: Plugged, form: str) -> None:
    """Both register, both run: each firing is answered by one of the two, compaction after compaction."""
    plugged.build()
    world = plugged.world
    world.holdfast("install", "--scope", "user", "--yes")
    begin(world, form)
    session = plugged.session()
    session.prompt("Begin.")
    session.prompt("Work.")
    for _ in range(2):
        session.prompt("/compact")
        session.prompt("Go on.")
        after = world.model.of("main")[-1]
        assert after.text.count(HEADING) == 1
        assert not [fact for fact in FACTS if fact not in guidance(after.text)]
        assert world.model.of("summary")[-1].last.split("Additional Instructions:")[1].count(SUMMARY) == 1
    assert len(world.rows("compactions")) == 2
    assert not world.complaints


def test_plugin_and_settings_report_each_move_once(plugged: Plugged) -> None:
    """An agent's phase: started, completed, handed over and put on the to-do list, each in one reminder."""
    plugged.build()
    world = plugged.world
    world.holdfast("install", "--scope", "user", "--yes")
    phases = ("--phase", "Create module @general-purpose", "--phase", "Write tests @general-purpose")
    world.holdfast("start", "A calculator", "--format", "hybrid", *phases)
    world.model.turns = [agent("Create module", "PROMPT-ONE"), say("Done.")]
    world.model.agents = {"PROMPT-ONE": [say("DELIVERABLES: calculator.py\nCONTEXT_FOR_NEXT: none")]}
    plugged.session().prompt("Begin.")
    text = world.model.of("main")[-1].text
    assert text.count('Phase 1/2 "Create module" is completed') == 1
    assert text.count("Next: ") == 1
    assert world.state["phases"][0]["status"] == "completed"
    assert not world.complaints


def test_the_skill_lets_the_model_call_the_command(plugged: Plugged) -> None:
    """Its front matter allows the verbs, in default mode, without a rule in any settings; the newer client obeys it."""
    plugged.build()
    world = plugged.world
    if world.version == "2.1.197":
        pytest.skip("this client asks all the same")
    world.model.turns = [
        call("Skill", skill="holdfast:holdfast"),
        bash("holdfast start 'User auth' --phase Design --phase Build"),
        say("Done."),
    ]
    plugged.session("--allowedTools", "Skill(holdfast:holdfast)").prompt("Begin.")
    assert [*world.project.glob("untracked/workflow-state/*/*.json")]


def test_failed_plugin_build_is_reported_once(plugged: Plugged, tmp_path: Path) -> None:
    """The user hears of it at the next session's start; the model never does, and sessions go on."""
    world = plugged.world
    (tmp_path / "programs" / "uv.log.fail").write_text("error: no route to the index\n")
    world.client.extra |= {"PIP_NO_INDEX": "1"}
    first = plugged.session()
    first.prompt("Begin.")
    first.close()
    assert not said(first)
    until(lambda: (plugged.data / "report").exists())
    second, third = plugged.session(), plugged.session()
    second.prompt("Begin.")
    third.prompt("Begin.")
    told = said(second) + said(third)
    assert len(told) == 1
    assert "no route to the index" in json.loads(told[0])["systemMessage"]
    assert not [each for each in world.model.requests if "no route" in each.text]


def test_installed_from_its_marketplace(plugged: Plugged, tmp_path: Path) -> None:
    """The client notes it as enabled; an install beside it adds the rules and nothing that it registers."""
    world = plugged.world
    root = pluginhome.copy_of_plugin(tmp_path / "market")
    run(world, "plugin", "marketplace", "add", str(root))
    run(world, "plugin", "install", "holdfast@holdfast")
    printed = world.holdfast("install", "--scope", "user", "--yes")
    assert "The plugin is enabled and registers SessionStart" in printed
    settings = json.loads(world.settings.read_text())
    assert "hooks" not in settings
    assert "Bash(holdfast start:*)" in settings["permissions"]["allow"]
    first = world.client.session()
    first.prompt("Begin.")
    data = world.client.config / "plugins" / "data" / "holdfast-holdfast"
    until(lambda: any(data.glob("env-*/ready")))
    world.model.turns = [bash("holdfast start 'User auth' --phase Design --phase Build"), say("Done.")]
    first.prompt("Start.")
    first.prompt("/compact")
    first.prompt("Go on.")
    assert world.model.of("main")[-1].text.count(HEADING) == 1
    assert not world.complaints
