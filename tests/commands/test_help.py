"""Every command's `--help` is readable."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from holdfast import cli
from holdfast.formats import RECORDS
from tests.commandline import command_of, holdfast
from tests.tables import each_row
from tests.test_docs import fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# Numbers of requirements, names and marks that only the source has.
INTERNAL = re.compile(r"\b[RID]\d{3}-\d|\b(?:Args|Raises|Returns):|``|\bNone\b|\b_\w|\w_\w+\(|[a-z]+\.[a-z]+\(")


def mine(command: click.Command | None = None, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Return the words of each command, however deep, with the command."""
    if command is None:
        for name in cli.commands():
            yield from mine(command_of(name), name)
        return
    yield above, command
    for name, each in command.commands.items() if isinstance(command, click.Group) else ():
        yield from mine(each, *above, name)


MINE = dict(mine())


@each_row("words", [(), *MINE], ids=" ".join)
def test_the_help_of_a_command_is_for_people(words: tuple[str, ...]) -> None:
    """No number of a requirement, no name of the source, no line too long."""
    said = holdfast(*words, "--help").out

    assert not INTERNAL.search(said), INTERNAL.search(said)
    assert max(map(len, said.splitlines())) <= 80


@each_row("words", MINE, ids=" ".join)
def test_every_option_says_what_it_is_for(words: tuple[str, ...]) -> None:
    """In a sentence."""
    assert MINE[words].help
    for option in MINE[words].params:
        if isinstance(option, click.Option):
            assert re.fullmatch(r".+\.", option.help or ""), option.name


def test_the_commands_stand_by_purpose() -> None:
    """Each of ours has a place that was chosen; what a package or a new module adds comes behind them."""
    said = holdfast("--help").out
    assert "\nKeep a workflow:\n  start " in said
    assert "\nOthers:" not in said
    assert said.index("\nSet up:") < said.index("\nKeep a workflow:") < said.index("\nExport and delete:")
    for name in {*cli.commands()} - {"server", "dispatch", *RECORDS}:
        assert re.search(rf"^  {name} +[A-Z].*\.$", said, re.MULTILINE), name


def test_a_formats_commands_are_listed_where_it_is_used(tmp_path: Path) -> None:
    """They can be run anywhere."""
    assert "One format only" not in holdfast("--help", root=tmp_path).out
    (tmp_path / ".workflow").mkdir()

    said = holdfast("--help", root=tmp_path).out

    assert re.search(r"^  wfs +", said, re.MULTILINE)
    assert not re.search(r"^  skills +", said, re.MULTILINE)


def test_a_misspelt_command_is_told_the_right_one() -> None:
    """Nothing is suggested where nothing is alike."""
    assert "there is no command 'statsu'; did you mean status?" in holdfast("statsu", code=2).err
    assert "there is no command 'qqq'\n" in holdfast("qqq", code=2).err


@each_row("words", MINE, ids=" ".join)
def test_every_command_has_an_example(words: tuple[str, ...]) -> None:
    """Of itself or, a group, of one of its commands; what it names exists."""
    _, _, examples = holdfast(*words, "--help").out.partition("  Example")
    calls = re.findall(r"^    ((?:claude \"\$\()?holdfast (?:.+\\\n +)*.+)$", examples.split("\n\n")[0], re.MULTILINE)
    own = [each for each in calls if each.startswith(" ".join(("holdfast", *words)))]
    assert own, examples
    assert {each: why for each in own if (why := fault(each.replace("\\\n", " ").split(" < ")[0]))} == {}
    assert all(shlex.split(each) for each in own)


@each_row("words", [words for words, each in MINE.items() if isinstance(each, click.Group)], ids=" ".join)
def test_no_line_of_a_list_of_commands_is_cut(words: tuple[str, ...]) -> None:
    """Each says all of its first sentence."""
    listed = holdfast(*words, "--help").out.partition("Commands:")[2]

    assert listed
    assert [line for line in listed.splitlines() if line.strip() and not line.endswith(".")] == []
    assert "..." not in listed


def test_there_are_few_commands_and_options() -> None:
    """A second way to say the same is a fault; these are limits to stay below."""
    leaves = [each for each in MINE.values() if not isinstance(each, click.Group)]
    options = [option for each in leaves for option in each.params if isinstance(option, click.Option)]

    assert len(leaves) <= 58
    assert len(options) <= 186  # and `--project`, which all commands about a project share


def test_the_help_fits_on_a_screen(tmp_path: Path) -> None:
    """With at most 24 commands."""
    lines = holdfast("--help", root=tmp_path).out.splitlines()

    listed = [line for line in lines if re.match(r"  [a-z]+ +[A-Z]", line) and "holdfast" not in line[:10]]
    assert len(listed) <= 24
    assert len(lines) <= 50
