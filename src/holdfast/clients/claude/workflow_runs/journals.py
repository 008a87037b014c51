"""The journal of a Workflow run: which agents it started, and what they returned."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.files import atomic, document
from holdfast.files.agent_runs import Journal, ScriptAgent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAME = "journal.jsonl"
LIMIT_BYTES = 64 << 20  # a longer journal is left alone
_RUN = re.compile(r"/subagents/workflows/(wf_[a-z0-9-]{6,64})/")
_SAFE_RUN = re.compile(r"wf_[a-z0-9-]{6,64}")
_NAMED_RUN = re.compile(r"(?<![A-Za-z0-9_-])wf_[a-z0-9-]{6,64}(?![A-Za-z0-9_])")
_SAFE_AGENT = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KEY = re.compile(r"v2:[0-9a-f]{64}")  # the only version whose keys are known to mean the same call
_RUN_KINDS = ("launched", "resumed", "restoring", "restored")  # lines about the run, not about an agent
_AGENT_KINDS = ("started", "result", "failed")


def run_of(transcript: str) -> str:
    """Return the run that an agent belongs to, from the path of its transcript; empty for no run's agent."""
    found = _RUN.search(transcript)
    return found[1] if found else ""


def named_in(text: str) -> list[str]:
    """Return the ids of runs that a text names, each once, in order."""
    return list(dict.fromkeys(_NAMED_RUN.findall(text)))


def folder(transcript: str, run: str) -> Path | None:
    """Return the folder of a run in the session with this transcript; None if there can be none."""
    if not transcript.endswith(".jsonl") or not _SAFE_RUN.fullmatch(run):
        return None
    return Path(transcript.removesuffix(".jsonl")) / "subagents" / "workflows" / run


def journal(folder: Path) -> Journal | None:
    """Return what a run's journal says; None if there is none, or it can't be read.

    The client drops a result when a later line says `started` or `failed` for the same key. Here the result counts.
    """
    lines = list(_lines(folder))
    if not lines:
        return None
    agents, known = dict[str, ScriptAgent](), True
    for line in lines:
        kind, key = line.get("type"), line.get("key")
        if kind in _RUN_KINDS:
            known = known and not line.get("hiddenScriptSha256")  # only the process that hid the script may resume it
            continue
        if kind not in _AGENT_KINDS or not isinstance(key, str) or not _KEY.fullmatch(key):
            known = False
            continue
        earlier = agents.get(key)
        agent, label = str(line.get("agentId") or ""), str(line.get("label") or (earlier.label if earlier else ""))
        if kind == "result":
            agents[key] = ScriptAgent(key, agent, label, "finished", _text(line.get("result")))
        elif earlier is None or earlier.state != "finished":
            agents[key] = ScriptAgent(key, agent, label, "started" if kind == "started" else "failed")
    return Journal(tuple(agents.values()), known, whole=len(_repaired(lines)) == len(lines))


def ended(folder: Path) -> str:
    """Return how the client says that a run ended (`completed`, `failed`, …); empty while it has not."""
    record = folder.parent.parent.parent / "workflows" / f"{folder.name}.json"
    try:
        said = json.loads(document.read(record, LIMIT_BYTES)[0])
    except (OSError, ValueError, StateError):
        return ""
    return str(said.get("status") or "completed") if isinstance(said, dict) else ""


def repaired(folder: Path) -> bytes:
    """Return a journal from which the client serves every finished result."""
    kept = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in _repaired(list(_lines(folder))))
    return "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogatepass")


def carry(folder: Path, target: Path) -> bool:
    """Copy a run's journal, repaired, to a folder that doesn't exist yet; False if it could not be done.

    The folder appears with the whole journal or not at all, and the earlier journal stays as it is.
    """
    if target.exists() or not target.parent.parent.parent.parent.is_dir():
        return False
    data = repaired(folder)
    if not data:
        return False
    made = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        made.mkdir(parents=True, mode=0o700)
        atomic.write(made / NAME, data, mode=0o600)
        made.rename(target)
    except OSError:
        with suppress(OSError):
            (made / NAME).unlink(missing_ok=True)
            made.rmdir()
        return False
    return True


def carry_agent(transcript: str, agent: str, target: str) -> bool:
    """Copy an agent's own transcript beside another session's, so that it can go on there; True if it is there."""
    if not (transcript.endswith(".jsonl") and target.endswith(".jsonl") and _SAFE_AGENT.fullmatch(agent)):
        return False
    source, to = (Path(each.removesuffix(".jsonl")) / "subagents" for each in (transcript, target))
    name = f"agent-{agent}"
    try:
        if source != to and not (to / f"{name}.jsonl").exists():
            to.mkdir(parents=True, exist_ok=True, mode=0o700)
            for suffix in (".meta.json", ".jsonl"):  # the transcript last: with it the agent is there
                if (source / f"{name}{suffix}").exists():
                    atomic.write(to / f"{name}{suffix}", document.read(source / f"{name}{suffix}", LIMIT_BYTES)[0])
        return (to / f"{name}.jsonl").exists()
    except (OSError, StateError):
        return False


def _text(result: Any) -> str:
    return result if isinstance(result, str) else "" if result is None else json.dumps(result)


def _repaired(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a journal's lines without those that make the client run finished agents again.

    After an agent's last result, its `started` and `failed` lines go. Of an agent without a result, the `failed` lines
    go: it runs again, and the results after it are still served. What comes before a last result stays, because the
    client derives the keys of later calls from whether a result replaced another one.
    """
    last = {line.get("key"): at for at, line in enumerate(lines) if line.get("type") == "result"}

    def stays(at: int, line: dict[str, Any]) -> bool:
        kind, key = line.get("type"), line.get("key")
        return at <= last[key] or kind not in ("started", "failed") if key in last else kind != "failed"

    return [line for at, line in enumerate(lines) if stays(at, line)]


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a journal's lines; a last one that is cut off, as after a kill, is left out."""
    try:
        data = document.read(folder / NAME, LIMIT_BYTES)[0]
    except (OSError, StateError):
        return
    for line in data.split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
