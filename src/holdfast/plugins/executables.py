"""Handlers in any language: a script with a `# holdfast:` line, run as the client runs a hook.

    #!/bin/sh
    # holdfast: event=PreToolUse match=shell timeout=5
    # holdfast-example: git push -f => deny

The event is JSON on its stdin, with what earlier handlers changed. It answers as a hook of the client does: with exit
code 2 and a reason on stderr, or with JSON on stdout. What runs is a private copy of the content that was hashed, so
a script never runs that was changed after it was trusted. `HOLDFAST_HANDLER_DIR` names the folder that it lies in;
files that it reads there itself are not covered by trust.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.errors import HoldfastError, because
from holdfast.files import atomic, cache, trust
from holdfast.plugins.markers import hookimpl
from holdfast.plugins.scan import Fault, Scan, routes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.outcomes import Outcome
    from holdfast.plugins.scan import Route

FOLDER_VARIABLE = "HOLDFAST_HANDLER_DIR"
_HEADER = re.compile(r"^[^\w\n]{1,4}\s*holdfast(?P<example>-example)?:\s*(?P<text>.*?)\s*$", re.MULTILINE)
_HEADER_CHARS = 4_096
_FLAGS = frozenset({"strict", "tryfirst", "trylast", "background"})
_MODE = 0o700
_LEFT_BEHIND_S = 0.2
"""Seconds between two checks whether a script has ended while its output is still open."""


def is_script(source: bytes) -> bool:
    """Return whether a file is a script that declares itself a handler."""
    return source.startswith(b"#!") and any(True for _ in _lines(source, example=False))


UNDECLARED = "a program without a line such as `# holdfast: event=PreToolUse match=Bash`, so it answers no event"
NOT_COVERED = "runs as a program: files that it reads itself are not covered by trust"


def scan(source: bytes, hooks: Hooks) -> Scan:
    """Read what a script declares, from its `# holdfast:` lines; each is one event.

    Args:
        source: the file's bytes.
        hooks: the client's hooks, which it may answer.
    """
    found: list[Route] = []
    faults: dict[str, str] = {}
    if not is_script(source):
        return Scan()  # a handlers folder may hold any program
    examples: dict[str, str] = {}
    for number, text in _lines(source, example=True):
        try:
            examples |= (_example(text),)
        except Fault as fault:
            faults[f"line {number}"] = f"line {number}: {fault}"
    for number, text in _lines(source, example=False):
        try:
            options = _options(text) | ({"examples": examples} if examples else {})
            declared = routes(options.pop("event", None), options, number, hooks)
            if any(route.event == declared[0].event for route in found):
                raise Fault(f"{declared[0].event} is declared twice; make it one line")
            found += declared
        except Fault as fault:
            faults[f"line {number}"] = f"line {number}: {fault}"
    return Scan(tuple(found), faults)


def function(hooks: Hooks, path: Path, source: bytes, event_name: str) -> Callable[..., Any]:
    """Return the function that runs a script for one of its events.

    Args:
        hooks: the hooks of the client whose event it is; they tell what the script's output means.
        path: where the script is.
        source: its bytes, as they were hashed.
        event_name: the event that it answers.
    """

    @hookimpl
    def run(event: Any) -> Sequence[Outcome]:
        environ = {**os.environ, FOLDER_VARIABLE: str(path.parent)}
        with _started(source, environ) as process:
            try:
                stdout, stderr = _output(process, hooks.to_json(event).encode("utf-8", "replace"))
            except BaseException:  # its time is up: what it has started ends with the handlers' process
                process.kill()
                raise
        return hooks.hook_outcomes(event_name, process.returncode, _text(stdout), _text(stderr))

    return run


def _started(source: bytes, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a script. Raises HandlerError if it can't be started."""
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen([_private_copy(source)], stdin=pipe, stdout=pipe, stderr=pipe, env=environ)
    except OSError as error:
        first = source.partition(b"\n")[0].decode("utf-8", "replace")
        ends = "; its lines end in CR LF, save it with LF" if first.endswith("\r") else ""
        raise HoldfastError(f"its program {first.strip()} can't be started: {because(error)}{ends}") from None


def _output(process: subprocess.Popen[bytes], data: bytes) -> tuple[bytes, bytes]:
    """Return what a script wrote until it ended, even if a program that it left behind keeps its output open."""
    text: bytes | None = data
    while True:
        try:
            return process.communicate(text, _LEFT_BEHIND_S)
        except subprocess.TimeoutExpired as still:
            if process.poll() is not None:
                return still.output or b"", still.stderr or b""
            text = None  # it is on its way


def _private_copy(source: bytes) -> Path:
    """Return a file with exactly the hashed content, in a folder that is the user's alone."""
    path = paths.ensure_private(cache.folder()) / f"{trust.digest(source)}.handler"
    if not path.exists() or path.read_bytes() != source:
        atomic.write(path, source, mode=_MODE, durable=False)
    return path


def _lines(source: bytes, *, example: bool) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each declaring line among the first ones."""
    head = source[:_HEADER_CHARS].decode("utf-8", "replace")
    for found in _HEADER.finditer(head):
        if bool(found["example"]) is example:
            yield head.count("\n", 0, found.start()) + 1, found["text"]


def _example(text: str) -> tuple[str, str]:
    """Return an example's text and outcome: `git push -f => deny`; nothing behind the arrow is silence."""
    what, arrow, answer = text.rpartition("=>")
    if not arrow:
        raise Fault(f"an example is TEXT => ANSWER, not {text!r}")
    return what.strip(), answer.strip()


def _options(text: str) -> dict[str, Any]:
    """Return the options of a declaring line: `event=PreToolUse match="Edit|Write" timeout=5 strict`. Raises Fault."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Fault(f"cannot be read: {error}") from None
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name in _FLAGS and (value == "true" or not equals):
            options[name] = True
        elif equals and name == "timeout":
            try:
                options[name] = float(value)
            except ValueError:
                raise Fault(f"timeout={value} isn't a number of seconds") from None
        elif equals and name not in _FLAGS:
            options[name] = value
        else:
            raise Fault(f"{word!r} is neither NAME=VALUE, without blanks, nor one of {', '.join(sorted(_FLAGS))}")
    return options


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip()
