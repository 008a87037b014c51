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
_LINE_LIMIT_BYTES = 1024 * 1024  # bytes of a log's first line
_REMEDY = "move it away, and the next learning brings the missing ones along"
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


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
    known = {_canonical(each) for each in logged(project)}
    lacking = [each for each in run.entries("learnings") if _canonical(each) not in known]
    lines = [json.dumps(each, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for each in lacking]
    target = path(project)
    statefile.guard(project.root, target)
    try:
        with os.fdopen(os.open(target, _FLAGS, 0o644), "r+b", buffering=0) as file:
            if not _is_log(file.read(_LINE_LIMIT_BYTES)):
                raise StateError(target, f"is another program's, so the learning is only in the state; {_REMEDY}")
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            torn = size > 0 and file.read(1) != b"\n"  # a writer was killed, or somebody's editor cut the last line end
            file.write(b"\n" * torn + b"".join(lines))
            os.fsync(file.fileno())
    except OSError as error:
        raise StateError(target, f"can't be written: {error.strerror or error}") from error


def check_log(project: Records) -> None:
    """Raise StateError, which says what to do, if learnings can't be added to the log."""
    if not _is_log(_read(project)[:_LINE_LIMIT_BYTES]):
        raise StateError(path(project), f"is another program's, so learnings are only in the state; {_REMEDY}")


def logged(project: Records) -> list[dict[str, Any]]:
    """Return the learnings in the log; lines that are no JSON object are left out. Raises StateError."""
    lines = _read(project).decode("utf-8", "replace").splitlines()
    return [each for line in lines if (each := _object(line)) is not None]


def _is_log(raw: bytes) -> bool:
    """Return whether a file's beginning is that of a log of ours, perhaps torn, or the file is empty."""
    first = raw.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0]
    entry = _object(first.decode("utf-8", "replace"))
    return not first or (first.startswith(b'{"timestamp"') if entry is None else "lesson" in entry)


def _read(project: Records) -> bytes:
    """Return the log's bytes, none if there is no log. Raises StateError."""
    target = path(project)
    statefile.guard(project.root, target)
    try:
        return document.read(target, _LIMIT_BYTES)[0]
    except MissingError:
        return b""
    except StateError as error:
        raise StateError(target, f"{error.reason}; {_REMEDY}") from error


def _canonical(learning: dict[str, Any]) -> str:
    return json.dumps(learning, sort_keys=True)


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
