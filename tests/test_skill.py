"""What the shipped skill tells the model is what the command line does."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from holdfast import cli, paths
from holdfast.install import install, skill
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

PLANNER = paths.package_root().parent / "examples" / "agents" / "delegation-orchestrator.md"
TEXTS = {"skill": skill.protocol(), "planner": PLANNER.read_text(encoding="utf-8")}
MODEL_VERBS = re.findall(r"Bash\(holdfast ([a-z ]+):\*\)", skill.shipped().decode().split("---")[1])
CALLS = sorted(
    {
        call
        for text in TEXTS.values()
        for call in (*re.findall(r"`(holdfast [^`]+)`", text), *re.findall(r"^ +(holdfast .+)$", text, re.MULTILINE))
    }
)


def test_explain_prints_it(tmp_path: Path) -> None:
    """The same text from both places, fit for a CLAUDE.md (R000-40)."""
    said = holdfast("status", "--protocol", root=tmp_path).out
    assert said == skill.protocol()
    assert said.startswith("# Workflow State Protocol\n")
    assert skill.shipped().decode().endswith(said)


def test_it_says_all_a_model_needs() -> None:
    """Start, transition, hand-over, after a compaction, at the end; the documents' own words among it."""
    text = TEXTS["skill"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Start",
        "Each phase",
        "Working on a phase as its agent",
        "After a compaction",
        "At the end",
    ]
    for words in (
        "DELIVERABLES:",
        "CONTEXT_FOR_NEXT:",
        "✅ Workflow restored: {workflow}, Phase {current}/{total}",
        ".claude/state/workflow.json",
        "untracked/workflow-state/",
    ):
        assert words in text
    _, _, read = skill.shipped().decode().split("---\n", 2)  # the client keeps the front matter to itself
    assert len(read) < 4_200, "a skill that is read often has to be short"


def test_its_front_matter_allows_what_install_allows() -> None:
    """First the rules of `install --yes`, then the formats' own commands, without those for people."""
    assert MODEL_VERBS[: len(install.ALLOW_RULES)] == [*install.MODEL_COMMANDS]
    own = MODEL_VERBS[len(install.ALLOW_RULES) :]
    assert own and {verb.split()[0] for verb in own} <= {"wfs", "orchestrator", "skills"}
    assert {"orchestrator approve", "orchestrator bounds"}.isdisjoint(own)


def named(name: str) -> click.Command:
    """Return a command of `holdfast`."""
    with click.Context(cli.holdfast) as context:
        command = cli.holdfast.get_command(context, name)
    assert command is not None
    return command


@each_row("call", CALLS)
def test_every_call_it_names_is_one(call: str) -> None:
    """Each command, subcommand and option exists, and the model may call it."""
    words = shlex.split(call)[1:]
    name = words.pop(0)
    assert name in cli.commands()
    command, verb = named(name), name
    while isinstance(command, click.Group):
        verb = f"{verb} {words[0]}"
        command = command.commands[words.pop(0)]
    assert verb in MODEL_VERBS or "people" in TEXTS["skill"].split(call)[1][:80]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


@each_row("call", [call for call in CALLS if call in TEXTS["skill"] and "--protocol" not in call])
def test_every_command_it_names_takes_json(call: str) -> None:
    """It says so."""
    assert "Every command named here takes `--json`." in TEXTS["skill"]
    words = shlex.split(call)[1:]
    command = named(words.pop(0))
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    assert "--json" in {option for parameter in command.params for option in parameter.opts}


def test_enough_calls_were_found() -> None:
    """The pattern above finds what the texts name."""
    assert len(CALLS) > 15
