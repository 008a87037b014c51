"""Programs that run other programs: which words are the inner command, or a script for a shell."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from holdfast.process.shell.words import ASSIGNMENT, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "csh", "tcsh"))
_SHELL_OPTIONS = re.compile(r"[abefhiklmnprstuvxBCDEHPTcoO]*")
_SHELL_LONG = ("norc", "noprofile", "posix", "login", "verbose", "restricted", "noediting", "rcfile", "init-file")
_SCRIPT_OPTION = {"su": "c", **dict.fromkeys(("mapfile", "readarray", "compgen"), "C")}
"""Programs with a short option whose value is a script, also behind an operand."""
_SCRIPTS = frozenset(("eval", "ssh"))
"""Programs that hand their operands to a shell."""
_EVALUATORS = ("let", "test", "[", "declare", "typeset", "local", "export", "readonly", "unset", "read", "printf")
"""Programs that substitute in the index of an array even if it's quoted."""
_INDEX = re.compile(r"[A-Za-z_]\w*\[.*[$`]", re.DOTALL)
_READERS = frozenset(("sudo", "doas", "ssh"))
"""Programs that may run what they read if they get no command."""
_OPAQUE = frozenset(
    (
        *("watch", "parallel", "flock", "script", "runuser", "sg", "pkexec", "chroot", "unshare", "nsenter", "setpriv"),
        *("strace", "ltrace", "valgrind", "taskset", "chrt", "prlimit", "caffeinate", "firejail", "systemd-run"),
        *("xvfb-run", "fakeroot", "unbuffer"),
    )
)
"""Programs that run another one, whose options aren't read: they may run anything."""


class _Wrapper(NamedTuple):
    """The options of a program, and how many operands precede the command.

    Attributes:
        short: as for getopt: `n:` takes a value, and `i::` may have one glued to it.
        long: those that take a value end in `=`.
        operands: how many there are.
    """

    short: str = ""
    long: str = ""
    operands: int = 0


_WRAPPERS = {
    **dict.fromkeys(("nohup", "builtin", "busybox", "eval", "{", "!", "coproc"), _Wrapper()),
    "command": _Wrapper("p"),
    "setsid": _Wrapper("cfw", "ctty fork wait"),
    "sudo": _Wrapper(
        "AbBEeHiKklNnPSsVvC:D:g:h:p:R:r:T:t:U:u:",
        "askpass background preserve-env set-home login non-interactive stdin shell reset-timestamp preserve-groups"
        " close-from= chdir= group= host= prompt= chroot= command-timeout= other-user= user=",
    ),
    "doas": _Wrapper("LnsC:u:"),
    "env": _Wrapper("i0vu:C:a:P:", "ignore-environment null debug unset= chdir= argv0="),
    "time": _Wrapper("apqvVlf:o:", "append portability quiet verbose format= output="),
    "timeout": _Wrapper("vfpk:s:", "foreground preserve-status verbose kill-after= signal=", 1),
    "nice": _Wrapper("n:0123456789", "adjustment="),
    "ionice": _Wrapper("tc:n:", "ignore class= classdata="),
    "stdbuf": _Wrapper("i:o:e:", "input= output= error="),
    "exec": _Wrapper("cla:"),
    "ssh": _Wrapper("46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:", "", 1),
    "xargs": _Wrapper(
        "0oprtxa:d:E:I:J:L:n:P:R:S:s:e::i::l::",
        "null no-run-if-empty interactive verbose exit replace max-lines eof open-tty"
        " arg-file= delimiter= max-args= max-procs= max-chars= process-slot-var=",
    ),
}


class Nested(NamedTuple):
    """What a program runs.

    Attributes:
        label: the entry in `Command.inside`.
        words: the command; empty if it is a script.
        script: a text for a shell; if it isn't known, anything may run besides what it has.
        sure: whether nothing is added to it.
    """

    label: str
    words: tuple[Word, ...] = ()
    script: Word = Word("")
    sure: bool = True


_STDIN_FILES = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_STDIN = Nested("")
"""A script from the standard input."""


def _unread(label: str) -> Nested:
    return Nested(label, script=Word("", False))


def of(words: Sequence[Word], sure: bool = True) -> tuple[Nested, ...]:
    """Return the commands that a command of these words runs in turn.

    Args:
        words: its words.
        sure: whether no more words follow.
    """
    if not words or not words[0].known:
        return ()
    name = words[0].text.rpartition("/")[2]
    if (letter := _SCRIPT_OPTION.get(name)) and (script := _option(words, letter)):
        return (Nested(name, script=script),)
    if name in (*SHELLS, "source", "."):
        return tuple(_of_shell(name, words, sure))
    if name == "find":
        return tuple(_of_find(words))
    if name == "trap":
        rest = [each for each in words[1:] if each.text != "--"]
        return (Nested(name, script=rest[0]),) if len(rest) > 1 else ()
    if name == "alias":
        return tuple(Nested(name, script=Word(each.text.partition("=")[2], each.known)) for each in words[1:])
    evaluated = name in _EVALUATORS and any(each.known and _INDEX.match(each.text) for each in words)
    if name in _OPAQUE or evaluated or (name == "hash" and len(words) > 2):  # `hash -p /bin/rm ls`
        return (_unread(name),)
    if name in _WRAPPERS and not (name == "command" and words[1:] and re.match("-p?[vV]", words[1].text)):
        return tuple(_of_wrapper(name, words, sure))
    return (Nested("", sure=False),) if name == "su" else ()


def _option(words: Sequence[Word], letter: str) -> Word | None:
    """Return the value of a short option, or of `--command`; None if it isn't there."""
    for before, each in pairwise(words):
        if re.fullmatch(rf"-\w*{letter}|--(?:session-)?command", before.text):
            return each
        if found := re.match(rf"-\w*?{letter}(?=.)|--(?:session-)?command=", each.text):
            return Word(each.text[found.end() :], each.known)
    return None


def _of_wrapper(name: str, words: Sequence[Word], sure: bool) -> Iterator[Nested]:
    wrapper, position, known, replaced = _WRAPPERS[name], 1, True, ""
    for operands in (wrapper.operands, 0):
        while position < len(words) and (option := words[position].text).startswith("-"):
            position += 1
            if option == "--":
                break
            if name == "env" and (split := re.match("-[0iv]*S|--split-string=?", option)):
                text = " ".join([option[split.end() :], *(each.text for each in words[position:])]).strip()
                yield Nested(name, script=Word(text, "\\" not in text and all(each.known for each in words)))
                return
            understood, takes = _takes_value(wrapper, option)
            known &= understood
            if name == "xargs" and (insert := re.match("-[0oprtx]*[IJi]|--replace=?", option)):
                replaced = option[insert.end() :] or (words[position].text if takes and words[position:] else "{}")
            position += takes
        position += operands
        if name != "ssh":  # which takes options behind the operand, too
            break
    while position < len(words) and _is_variable(name, words[position].text):
        position += 1
    position += name == "coproc" and [each.text for each in words[2:3]] == ["{"]  # `coproc NAME { …; }`
    inner = tuple(Word(each.text, each.known and not (replaced and replaced in each.text)) for each in words[position:])
    if not known or not (inner or sure):
        yield _unread(name)
    if not inner:
        if name in _READERS:
            yield Nested("", sure=False)
    elif name in _SCRIPTS:
        yield Nested(name, (), Word(" ".join(each.text for each in inner), all(each.known for each in inner)), known)
    else:
        yield Nested(name, inner, sure=known and name != "xargs")  # which adds words


def _takes_value(wrapper: _Wrapper, option: str) -> tuple[bool, bool]:
    """Return whether a program has an option, or some in a group, and whether the next word is its value."""
    if option.startswith("--"):
        name, equals, _ = option[2:].partition("=")
        with_value = f"{name}=" in wrapper.long.split()
        return with_value or name in wrapper.long.split(), with_value and not equals
    kinds = dict(re.findall(r"(\w)(:*)", wrapper.short))
    for position, letter in enumerate(option[1:], 2):
        if kinds.get(letter) != "":
            return letter in kinds, kinds.get(letter) == ":" and position == len(option)
    return True, False


def _is_variable(name: str, text: str) -> bool:
    return ASSIGNMENT.match(text) is not None or (name in ("env", "sudo") and "=" in text)


def _of_shell(name: str, words: Sequence[Word], sure: bool) -> Iterator[Nested]:
    position, command, stdin, known = 1, False, False, True
    while name in SHELLS and position < len(words) and re.match(r"[-+]\w|--\w|\+$", option := words[position].text):
        position += 1
        if option in ("--version", "--help"):
            return
        cluster = "" if option.startswith("--") else option[1:]
        command |= "c" in cluster and option[0] == "-"
        stdin |= "s" in cluster
        position += len(re.findall("[oO]", cluster)) + (option in ("--rcfile", "--init-file"))
        known &= option[2:] in _SHELL_LONG if option.startswith("--") else bool(_SHELL_OPTIONS.fullmatch(cluster))
    rest = words[position:]
    rest = rest[1:] if rest and rest[0].text in ("-", "--") else rest
    first = rest[0].text if rest else ""
    if not known or not (rest or sure) or (not command and re.match(r"/dev/fd/[1-9]|/proc/|<\(", first)):
        yield _unread(name)
    if command and rest:
        yield Nested("sh -c", script=rest[0])
    elif rest and not rest[0].known and (script := _option(rest, "c")):  # `bash $OPTIONS -c …`
        yield Nested("sh -c", script=script, sure=False)
    elif stdin or (name in SHELLS and not rest and not command) or first in _STDIN_FILES:
        yield _STDIN


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
