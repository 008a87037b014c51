"""Collect the commands of a shell command: those that its text has, and those that these run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.process.shell import nesting
from holdfast.process.shell.command import Command
from holdfast.process.shell.words import Word, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.process.shell.nesting import Nested

_STDIN = ("|", "<", "<<")  # labels of a script that a program reads
_DEEPEST = 8  # scripts in scripts
_LONGEST_CHARS = 100_000


class Output(NamedTuple):
    """What a command reads or prints.

    Attributes:
        command: the command that prints it; None for a here-document.
        text: what it is, None if that isn't known.
        label: the entry in `Command.inside` for a shell that reads it.
    """

    command: Command | None
    text: Word | None = None
    label: str = "|"


class Reading:
    """The commands found so far, and the folder in which the next one runs."""

    def __init__(self, parse: Callable[[Reading, str, tuple[str, ...], bool], bool]) -> None:
        """Begin in the event's folder.

        Args:
            parse: adds the commands of a script (the arguments of `read`), and returns False if it can't.
        """
        self._parse = parse
        self.found: list[Command] = []
        self.folder: str | None = ""

    def read(self, text: str, inside: tuple[str, ...] = (), sure: bool = True) -> None:
        """Add the commands of a script.

        Args:
            text: the script.
            inside: what runs it (`Command.inside`).
            sure: whether exactly this runs.
        """
        if words := plain(text):
            self.add(text, words, inside, sure)
        elif len(inside) > _DEEPEST or len(text) > _LONGEST_CHARS or not self._parse(self, text, inside, sure):
            self.found.append(Command(text, inside=inside))

    def add(
        self,
        text: str,
        words: Sequence[Word],
        inside: tuple[str, ...],
        sure: bool,
        *,
        environment: Mapping[str, str] | None = None,
        reads: tuple[Word, ...] = (),
        writes: tuple[Word, ...] = (),
        stdin: Output | None = None,
    ) -> Output:
        """Add a command, and what it runs in turn. Return what it prints.

        Args:
            text: the text that it was read from.
            words: its words.
            inside: what runs it.
            sure: whether exactly this runs.
            environment: the variables that are set for it.
            reads: the files that it reads.
            writes: the files that it writes.
            stdin: what it reads from a pipe or a here-document.
        """
        found = [each for each in nesting.of(words, sure) if each.label or each.sure or stdin]
        nested = [_with_stdin(each, reads, stdin) for each in found]
        opaque = any(not each.words and each.label in _STDIN and not each.script.known for each in nested)
        unknown = tuple(position for position, each in enumerate(words) if not each.known)
        command = Command(
            text,
            tuple(each.text for each in words),
            sure and not unknown and not opaque and all(each.known for each in (*reads, *writes)),
            inside,
            unknown,
            environment or {},
            tuple(each.text for each in reads),
            tuple(each.text for each in writes),
            stdin.command if stdin else None,
            self.folder,
        )
        self.found.append(command)
        for each in nested:
            folder = self.folder
            if each.words:
                self.add(text, each.words, (*inside, each.label), sure and each.sure, reads=reads, stdin=stdin)
            if not each.script.known:  # it may run anything
                self.found.append(Command(text, inside=(*inside, each.label)))
            if each.script.text.strip():
                self.read(each.script.text, (*inside, each.label), sure and each.sure and each.script.known)
            if each.label not in ("command", "builtin", "eval"):
                self.folder = folder
        if command.program in ("cd", "pushd", "popd"):
            self._change_folder(words)
        return Output(command, _printed(command, words, stdin))

    def _change_folder(self, words: Sequence[Word]) -> None:
        target = words[-1] if len(words) > 1 else Word("~")
        if not target.known or target.text == "-" or words[0].text == "popd":
            self.folder = None
        elif self.folder is not None or target.text.startswith(("/", "~")):
            absolute = target.text.startswith(("/", "~"))
            self.folder = target.text if absolute or not self.folder else f"{self.folder}/{target.text}"


def _with_stdin(nested: Nested, reads: Sequence[Word], stdin: Output | None) -> Nested:
    """Return the commands that a program runs, including a script on its standard input."""
    if nested.label:
        return nested
    if stdin and stdin.label == "<" and reads:  # a script in a file, which is out of reach
        return nested._replace(label="<", script=Word("", not reads[-1].text.startswith("<(")))
    return nested._replace(label=stdin.label if stdin else "|", script=(stdin and stdin.text) or Word("", False))


def _printed(command: Command, words: Sequence[Word], stdin: Output | None) -> Word | None:
    """Return a command's output; None if it isn't known."""
    if command.argv == ("cat",) or command.argv == ("cat", "-"):
        return stdin.text if stdin else None
    if command.program == "printf" and len(words) == 2 and "%" not in words[1].text and "\\" not in words[1].text:
        return words[1]
    if command.program != "echo":
        return None
    shown = words[2:] if command.argv[1:2] == ("-n",) else words[1:]
    text = " ".join(each.text for each in shown)
    return None if "\\" in text or text.startswith("-") else Word(text, all(each.known for each in shown))
