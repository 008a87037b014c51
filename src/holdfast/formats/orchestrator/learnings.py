"""The log of learnings, `.claude/learnings.jsonl`: one JSON object a line, and nothing in it is ever changed."""

from __future__ import annotations

import codecs
import json
import os
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, MissingError, StateError
from holdfast.files import document
from holdfast.formats.orchestrator import schema
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records

_LIMIT_BYTES = 32 * 1024 * 1024  # bytes of a log that is read
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_REMEDY = "move it away, and the next learning brings the missing ones along"


def path(project: Records) -> Path:
    """Return the path of the log (R003-27); it need not exist."""
    return schema.state_path(project.root).with_name("learnings.jsonl")


def add(run: Run, kind: str, lesson: str, *, pattern: str = "", context: str = "", task: str = "") -> None:
    """Add a learning to the state; the log gets it once the state is written (R003-18).

    Without a task it belongs to the one at work, else to the one that was completed last. Raises HoldfastError for an
    empty lesson.
    """
    if not lesson.strip():
        raise HoldfastError("a learning needs a lesson: say what you learned")
    id_ = task or run.at_work()
    entry = run.executor(id_) or {}
    done = run.completed(id_) or {}
    learning = {
        "timestamp": run.stamp,
        "task": id_,
        "iteration": values.number(entry.get("iteration")) or values.number(done.get("iterations")) or 0,
        "type": kind,
        "lesson": lesson,
        "pattern": pattern,
        "context": context,
    }
    run.listed("learnings").append(learning)
    run.new_learnings.append(learning)


def log(project: Records, run: Run) -> None:
    """Append a run's learnings that the log lacks: new ones, and earlier ones when it couldn't be written.

    Hold the folder's lock. Raises StateError.
    """
    if not run.new_learnings:
        return
    target, raw = path(project), read(project)
    known = {_canonical(entry) for line in raw.splitlines() if (entry := _object(line)) is not None}
    lacking = [each for each in run.entries("learnings") if _canonical(each) not in known]
    lines = [json.dumps(each, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for each in lacking]
    end = b"" if raw.endswith(b"\n") or not raw else b"\n"  # which a killed writer, or somebody's editor, left out
    try:
        with os.fdopen(os.open(target, _APPEND, 0o644), "ab") as file:
            file.write(end + b"".join(lines))
    except OSError as error:
        raise StateError(target, f"can't be written: {error.strerror or error}") from error


def read(project: Records) -> bytes:
    """Return the log's bytes, none if there is no log.

    Raises StateError, which says what to do, if it can't be read or is another program's.
    """
    target = path(project)
    statefile.guard(project.root, target)
    try:
        raw = document.read(target, _LIMIT_BYTES)[0]
    except MissingError:
        return b""
    except StateError as error:
        raise StateError(target, f"{error.reason}; {_REMEDY}") from error
    first = raw.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0]
    entry = _object(first)
    if first and not (first.startswith(b'{"timestamp"') if entry is None else "lesson" in entry):  # None: it is torn
        raise StateError(target, f"is another program's, so learnings are only in the state; {_REMEDY}")
    return raw


def _canonical(learning: dict[str, Any]) -> str:
    return json.dumps(learning, sort_keys=True)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
