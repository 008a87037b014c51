"""Bash runs random scripts whose programs note their words, and each must be among the commands that handlers see."""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from holdfast.events import Command, PreToolUse, parse
from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BASH = shutil.which("bash")
PROGRAM = """#!/bin/bash
printf -v words '%s\\2' "${0##*/}" "$@"
printf '%s\\1' "$words" >> "$NOTES"
"""
REAL = ("cat", "env", "nohup", "timeout", "xargs", "find", "bash", "nice", "setsid")
PARTS = (
    *("a", "b/c", "-x", "--y=z", ".env", "1", "2.5", "-", "--", "{}", "%a", "a=b", "=", "+", "@", "a:b", "^", "é"),
    *(
        "'q w'",
        '"d e"',
        "'$x'",
        '"a\'b"',
        "'a\"b'",
        '""',
        "''",
        "\\ ",
        "\\'",
        "\\$V",
        "a\\\nb",
        '"\\$V\\\\ \\`"',
        '$"tr"',
    ),
    *(
        '"$V"',
        "$V",
        "${V}x",
        '"${V:-d}"',
        "$'\\x61\\n'",
        "*.zz",
        "a?b",
        "[ab]c",
        "{k,l}",
        "{1..2}",
        "$((1+1))",
        "$",
        "a$",
    ),
    *(
        "`p3 s`",
        "$(p3 t)",
        '"$(p3 u "v w")"',
        "<(p3 w)",
        "!",
        "!x",
        "{",
        "}",
        "#n",
        "a#b",
        "if",
        "then",
        "do",
        "in",
        "time",
    ),
)
REDIRECTIONS = (
    *(">o", ">>o", "2>&1", ">&2", "2>/dev/null", "> 'o p'", "&>o", "<i", "<&-", ">|o", "<<<w", '<<< "$V z"', "2>>o"),
)
BEFORE = (
    *("env A=1 ", "nohup ", "timeout -s KILL 5 ", "nice -n 1 ", "command ", "exec ", "eval ", "time ", "! ", "setsid "),
    *("env -u Q ", "A=1 ", "A=$V ", "B=$(p3 z) "),
)


class Writer:
    """Writes random scripts."""

    def __init__(self, seed: int) -> None:
        """Begin at a seed."""
        self.random = random.Random(seed)

    def word(self) -> str:
        """Return a word of one to three parts."""
        return "".join(self.random.choice(PARTS) for _ in range(self.random.choice((1, 1, 1, 2, 3))))

    def simple(self) -> str:
        """Return one command, with redirections anywhere."""
        words = [self.random.choice(("p1", "p2", "p\\1", 'p"1"', "'p2'", "$P", "p\\\n1"))]
        words += [self.word() for _ in range(self.random.randint(0, 3))]
        for _ in range(self.random.choice((0, 0, 1, 2))):
            words.insert(self.random.randint(0, len(words)), self.random.choice(REDIRECTIONS))
        return (self.random.choice(BEFORE) if self.random.random() < 0.3 else "") + " ".join(words)

    def script(self, depth: int) -> str:
        """Return a script with that many commands in each other, at most."""
        if not depth or self.random.random() < 0.3:
            return self.simple()
        one, two, simple = self.script(depth - 1), self.script(depth - 1), self.simple()
        quoted = one.replace("'", "'\\''")
        here = f"{simple}\nx $V \"q\n'X\nX\n{one}"
        return self.random.choice(
            (
                *(
                    f"{one} | {two}",
                    f"{one} && {two}",
                    f"{one} || {two}",
                    f"{one}; {two}",
                    f"( {one} )",
                    f"{{ {one}; }}",
                ),
                *(f"if {one}; then {two}; fi", f"while {one}; do {two}; break; done >o", f"f() {{ {one}; }}; f"),
                *(f"for v in {self.word()}; do {one}; done", f"case {self.word()} in a|b) {one};; *) {two};; esac"),
                *(f"bash -ec '{quoted}' a", f"echo {simple} | bash", f"echo {simple} | xargs -n1 p2 q"),
                *(f'echo $({one}) "$({two})"', f"find i -exec {simple} {{}} +", f"find i -exec {simple} {{}} \\;"),
                *(
                    f"bash -s <<X\n{here}",
                    f"cat <<'X' | bash\n{here}",
                    f"p1 - >o <<X w\n{here}",
                    f"cat <<-X && {simple}\n{here}",
                ),
            )
        )


def seen(ran: tuple[str, ...], commands: tuple[Command, ...]) -> bool:
    """Return whether a command that ran is among those found, or may be one of those that aren't sure."""
    sure = {command.argv for command in commands if command.sure}
    vague = [command for command in commands if not command.sure]
    return ran in sure or any(
        not each.argv or 0 in each.unknown or each.program in (ran[0], "bash", "eval") for each in vague
    )


@pytest.mark.skipif(BASH is None, reason="no bash")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_whatever_bash_runs_was_seen(tmp_path: Path, seed: int) -> None:
    """No program runs with words that no handler saw, unless a command that isn't sure stands for it."""
    programs, work, notes = tmp_path / "bin", tmp_path / "work", tmp_path / "notes"
    programs.mkdir()
    work.mkdir()
    for name in ("p1", "p2", "p3"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    for name in REAL:
        (programs / name).symlink_to(shutil.which(name) or "/missing")
    environ = {"PATH": str(programs), "NOTES": str(notes), "V": "val ue", "P": "p1", "HOME": "/h"}
    writer, unseen, known, read = Writer(seed), [], 0, 0
    for _ in range(60):
        script = writer.script(writer.random.choice((0, 1, 1, 2, 3)))
        notes.write_bytes(b"")
        (work / "i").write_text("in\n")
        command = [str(BASH), "-c", script]
        subprocess.run(
            command, cwd=work, env=environ, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False
        )
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "tool_name": "Bash",
            "tool_input": {"command": script},
        }
        event = parse(payload)
        assert isinstance(event, PreToolUse)
        for note in notes.read_text("utf-8", "replace").split("\1")[:-1]:
            ran = tuple(note.split("\2")[:-1])
            known += any(ran == each.argv and each.sure for each in event.commands)
            read += 1
            if not seen(ran, event.commands):
                unseen.append((script, ran))
    assert unseen == []
    assert known > read * 0.3, "most of this is read, not given up"


@pytest.mark.skipif(BASH is None, reason="no bash")
@pytest.mark.slow
def test_bash_runs_what_is_hidden(tmp_path: Path) -> None:
    """Each text that hides `rm y` runs it, so what tests ask of them is real."""
    (tmp_path / "rm").write_text('#!/bin/bash\necho "$*" >> "$NOTES"\n')
    (tmp_path / "rm").chmod(0o755)
    notes, silent = tmp_path / "notes", []
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NOTES": str(notes), "HOME": str(tmp_path)}
    texts = (ROOT / "tests/api/data/hidden.txt").read_text("utf-8").split("\n", 2)[2]
    for text in texts.partition("\n====\n")[0].split("\n%%\n"):
        notes.write_bytes(b"")
        command = [str(BASH), "-c", text.replace("/BIN/", f"{tmp_path}/")]
        subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False
        )
        if not notes.read_bytes():
            silent.append(text)
    assert silent == []
