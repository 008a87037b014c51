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
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records

KEPT = 100
"""Learnings that the state holds; older ones are in the log alone, so that an event's cost doesn't grow with them."""
LIMIT_BYTES = 32 * 1024 * 1024  # bytes of a log that is read
_REMEDY = "move it away, and the next learning brings the missing ones along"
_LINE_LIMIT_BYTES = 1024 * 1024  # bytes of a log's first line


def path(project: Records) -> Path:
    """Return the path of the log (R003-27); it need not exist."""
    return schema.state_path(project.root).with_name("learnings.jsonl")


def add(run: Run, kind: str, lesson: str, *, pattern: str = "", context: str = "", task: str = "") -> dict[str, Any]:
    """Add a learning to the state and return it; the log gets it once the state is written (R003-18).

    Without a task it belongs to the one at work, else to the one that was completed last. Raises HoldfastError for an
    unknown type or an empty lesson.
    """
    if kind not in schema.LEARNING_TYPES:
        raise HoldfastError(f"a learning must be one of {', '.join(schema.LEARNING_TYPES)}, not {kind!r}")
    if not lesson.strip():
        raise HoldfastError("a learning needs a lesson: say what you learned")
    at = task or run.at_work()
    entry = run.executor(at) or {}
    done = next((e for e in schema.objects(run.data.get("completed_tasks")) if e.get("task") == at), {})
    count = values.number(entry.get("iteration")) or values.number(done.get("iterations")) or 0
    made = {
        "timestamp": run.stamp,
        "task": at,
        "iteration": count,
        "type": kind,
        "lesson": lesson,
        "pattern": pattern,
        "context": context,
    }
    listed = run.listed("learnings")
    listed.append(made)
    run.learned.append(made)
    run.outgrown += listed[:-KEPT]
    del listed[:-KEPT]
    return made


def log_run(project: Records, run: Run) -> None:
    """Write a run's new learnings into the log, after those that it lacks because it couldn't be written before.

    Hold the folder's lock. Raises StateError.
    """
    if not (run.learned or run.outgrown):
        return
    wanted = [*run.outgrown, *schema.objects(run.data.get("learnings"))]
    lines = set(_read(project).split(b"\n"))
    lacking = [each for each in wanted if _line(each) not in lines]
    if len(lacking) > len(run.learned):  # some line couldn't be written, or somebody wrote it another way
        known = {json.dumps(each, sort_keys=True) for each in logged(project)}
        lacking = [each for each in lacking if json.dumps(each, sort_keys=True) not in known]
    log(project, lacking)


def log(project: Records, learned: Sequence[dict[str, Any]]) -> None:
    """Append learnings to the log, each as one line. Hold the folder's lock. Raises StateError."""
    if not learned:
        return
    target = path(project)
    statefile.guard(project.root, target)
    text = b"".join(_line(each) + b"\n" for each in learned)
    try:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(target, flags, 0o644)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            if not _is_log(file.read(_LINE_LIMIT_BYTES)):
                raise StateError(target, f"is another program's, so the learning is only in the state; {_REMEDY}")
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            torn = size > 0 and file.read(1) != b"\n"  # a writer was killed, or somebody's editor cut the last line end
            file.write(b"\n" * torn + text)
            os.fsync(file.fileno())
    except OSError as error:
        raise StateError(target, f"can't be written: {error.strerror or error}") from error


def _line(learned: dict[str, Any]) -> bytes:
    return json.dumps(learned, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _is_log(raw: bytes) -> bool:
    """Return whether a file's beginning is that of a log of ours, perhaps torn, or the file is empty."""
    first = raw.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0]
    found = _object(first.decode("utf-8", "replace"))
    return not first or (first.startswith(b'{"timestamp"') if found is None else "lesson" in found)


def check_log(project: Records) -> None:
    """Raise StateError, which says what to do, if learnings can't be added to the log."""
    if not _is_log(_read(project)[:_LINE_LIMIT_BYTES]):
        raise StateError(path(project), f"is another program's, so learnings are only in the state; {_REMEDY}")


def logged(project: Records) -> list[dict[str, Any]]:
    """Return the learnings in the log; lines that are no JSON object are left out. Raises StateError."""
    lines = _read(project).decode("utf-8", "replace").splitlines()
    return [each for line in lines if (each := _object(line)) is not None]


def _read(project: Records) -> bytes:
    """Return the log's bytes, none if there is no log. Raises StateError."""
    target = path(project)
    statefile.guard(project.root, target)
    try:
        return document.read(target, LIMIT_BYTES)[0]
    except MissingError:
        return b""
    except StateError as error:
        raise StateError(target, f"{error.reason}; {_REMEDY}") from error


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
