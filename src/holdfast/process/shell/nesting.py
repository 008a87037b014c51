"""Programs that run other programs: which words are the inner command, or a script for a shell."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from holdfast.process.shell.words import ASSIGNMENT, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh"))
_COMMAND_ANYWHERE = frozenset(("su", "runuser", "script", "flock"))
"""Programs whose option `-c` may follow an operand."""
_SCRIPTS = frozenset(("eval", "ssh", "watch", "parallel"))
"""Programs that hand their operands to a shell."""
_OPEN = frozenset(("xargs", "parallel"))
"""Programs that add words from elsewhere."""


class _Wrapper(NamedTuple):
    """The options of a program that take a value, short and long ones, and how many operands precede the command."""

    short: str = ""
    long: str = ""
    operands: int = 0


_WRAPPERS = {
    **dict.fromkeys(("nohup", "command", "builtin", "busybox", "coproc", "eval", "{", "!", "setsid"), _Wrapper()),
    "sudo": _Wrapper("CDghpRrTtUu", "close-from chdir group host prompt chroot command-timeout other-user user"),
    "doas": _Wrapper("Cu"),
    "env": _Wrapper("uC", "unset chdir"),
    "time": _Wrapper("fo", "format output"),
    "timeout": _Wrapper("ks", "kill-after signal", 1),
    "nice": _Wrapper("n", "adjustment"),
    "ionice": _Wrapper("cn", "class classdata"),
    "stdbuf": _Wrapper("ioe", "input output error"),
    "exec": _Wrapper("a"),
    "caffeinate": _Wrapper("tw"),
    "chroot": _Wrapper("", "", 1),
    "flock": _Wrapper("wE", "timeout wait conflict-exit-code", 1),
    "strace": _Wrapper("abeEoOpPsSuX"),
    "watch": _Wrapper("nq", "interval equexit"),
    "ssh": _Wrapper("BbcDEeFIiJLlmOoPpQRSWw", "", 1),
    "xargs": _Wrapper("adEILnPs", "arg-file delimiter max-args max-procs max-chars process-slot-var"),
    "parallel": _Wrapper("aCdEIjLNnPsS", "arg-file colsep delimiter jobs max-args sshlogin"),
}


class Nested(NamedTuple):
    """What a program runs.

    Attributes:
        label: the entry in `Command.inside`.
        words: the command; empty if it is a script.
        script: a text for a shell, empty if it comes from the standard input.
        sure: whether nothing is added to it.
    """

    label: str
    words: tuple[Word, ...] = ()
    script: Word = Word("")
    sure: bool = True


def of(words: Sequence[Word]) -> tuple[Nested, ...]:
    """Return what a command of these words runs in turn."""
    if not words or not words[0].known:
        return ()
    name = words[0].text.rpartition("/")[2]
    if name in _COMMAND_ANYWHERE:
        for option, value in pairwise(words):
            if re.fullmatch(r"-\w*c|--(?:session-)?command", option.text):
                return (Nested(name, script=value),)
    if name in SHELLS:
        return tuple(_of_shell(words))
    if name == "find":
        return tuple(_of_find(words))
    if name == "trap" and len(words) > 2:
        return (Nested(name, script=words[1]),)
    if name in _WRAPPERS and not (name == "command" and words[1:] and re.match("-p?[vV]", words[1].text)):
        return tuple(_of_wrapper(name, words))
    return ()


def _of_wrapper(name: str, words: Sequence[Word]) -> Iterator[Nested]:
    wrapper, position, sure = _WRAPPERS[name], 1, name not in _OPEN
    long = wrapper.long.split()
    while position < len(words) and (option := words[position].text).startswith("-") and option != "-":
        position += 1
        if option == "--":
            break
        if name == "env" and option.startswith(("-S", "--split-string")):  # words, in quotes or not
            value = re.sub(r"^(?:-S|--split-string=?)", "", option)
            rest = [each.text for each in words[position:]]
            yield Nested(name, script=Word(" ".join([value, *rest]).strip(), all(each.known for each in words)))
            return
        if option.startswith("--"):
            takes = option[2:] in long
            sure &= takes or "=" in option
        else:
            takes = bool(wrapper.short and re.fullmatch(f"-[^{wrapper.short}]*[{wrapper.short}]", option))
        position += takes
    position += wrapper.operands
    while position < len(words) and ASSIGNMENT.match(words[position].text):
        position += 1
    inner = tuple(words[position:])
    if not inner:
        return
    if name in _SCRIPTS:
        yield Nested(name, (), Word(" ".join(each.text for each in inner), all(each.known for each in inner)), sure)
    else:
        yield Nested(name, inner, sure=sure)


def _of_shell(words: Sequence[Word]) -> Iterator[Nested]:
    position, command, stdin = 1, False, False
    while position < len(words) and re.match(r"[-+]\w|--\w", option := words[position].text):
        cluster = "" if option.startswith("--") else option[1:]
        command |= "c" in cluster and option[0] == "-"
        stdin |= "s" in cluster
        position += 2 if cluster[-1:] in ("o", "O") or option in ("--rcfile", "--init-file") else 1
    rest = [each for each in words[position:] if each.text not in ("-", "--")]
    if command and rest:
        yield Nested("sh -c", script=rest[0])
    elif stdin or not rest or rest[0].text == "/dev/stdin":
        yield Nested("")


def _of_find(words: Sequence[Word]) -> Iterator[Nested]:
    inner: list[Word] | None = None
    for before, each in pairwise([*words, Word(";")]):
        ends = each.text == ";" or (each.text == "+" and before.text == "{}")
        if inner and ends:
            yield Nested("find -exec", tuple(inner))
        if ends or re.fullmatch("-(?:exec|ok)(?:dir)?", each.text):
            inner = None if ends else []
        elif inner is not None:
            inner.append(Word(each.text, each.known and "{}" not in each.text))
