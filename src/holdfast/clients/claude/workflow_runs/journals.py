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
from holdfast.files.agent_runs import Journal, ScriptAgent, says_something

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "journal.jsonl"
LIMIT_BYTES = 64 << 20  # a longer journal is left alone
PROMPT_LIMIT_BYTES = 1 << 20  # of an agent's transcript, which begins with its prompt
_RUN = re.compile(r"/subagents/workflows/(wf_[a-z0-9-]{6,64})/")
_SAFE_RUN = re.compile(r"wf_[a-z0-9-]{6,64}")
_NAMED_RUN = re.compile(r"(?<![A-Za-z0-9_-])wf_[a-z0-9-]{6,64}(?![A-Za-z0-9_])")
_SAFE_AGENT = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KEY = re.compile(r"v2:[0-9a-f]{64}")  # the only version whose keys are known to mean the same call
_FRAMED = "The computed task text follows:\n"
_WAITING = ("launched", "resumed", "restoring", "restored")  # lines about the run, not about an agent


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
    agents, known, whole = dict[str, ScriptAgent](), True, True
    for line in lines:
        kind, key = line.get("type"), line.get("key")
        if kind in _WAITING:
            continue
        if kind not in ("started", "result", "failed") or not isinstance(key, str) or not _KEY.fullmatch(key):
            known = False
            continue
        earlier = agents.get(key)
        agent, label = str(line.get("agentId") or ""), str(line.get("label") or (earlier.label if earlier else ""))
        if kind == "result":
            told = ScriptAgent(key, agent, label, "finished", line.get("result"))
            if told.useful or not (earlier and earlier.useful):
                agents[key] = told
            continue
        whole = whole and kind == "started" and not (earlier and earlier.state == "finished")
        if earlier is None or earlier.state != "finished":
            agents[key] = ScriptAgent(key, agent, label, "started" if kind == "started" else "failed")
    return Journal(tuple(agents.values()), known, whole)


def ended(folder: Path) -> str:
    """Return how the client says that a run ended (`completed`, `failed`, …); empty while it has not."""
    record = folder.parent.parent.parent / "workflows" / f"{folder.name}.json"
    try:
        said = json.loads(document.read(record, LIMIT_BYTES)[0])
    except (OSError, ValueError, StateError):
        return ""
    return str(said.get("status") or "completed") if isinstance(said, dict) else ""


def repaired(folder: Path) -> bytes:
    """Return a journal in which every finished result counts, and no other agent ends the client's cache.

    `failed` lines go, and so does each `started` that came after a result: an interrupted agent runs again, and those
    after it are still served. Of an agent's results the last one that says something stays, as in `journal`.
    """
    lines = list(_lines(folder))
    results = {str(line.get("key")): at for at, line in enumerate(lines) if _is_useful(line)}
    kept = list[str]()
    for at, line in enumerate(lines):
        kind, result = line.get("type"), results.get(str(line.get("key")), len(lines))
        late = kind == "started" and at > result
        if not late and kind != "failed" and (kind != "result" or at == result):
            kept.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
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


def prompt(folder: Path, agent: str) -> str | None:
    """Return the prompt that a script gave an agent, without the client's frame around it; None if it isn't known."""
    if not _SAFE_AGENT.fullmatch(agent):
        return None
    try:
        data, _ = document.head(folder / f"agent-{agent}.jsonl", PROMPT_LIMIT_BYTES)
        entry = json.loads(data.split(b"\n", 1)[0])
        said = entry["message"]["content"]
    except (OSError, ValueError, KeyError, TypeError, StateError):
        return None
    if isinstance(said, list):
        said = "".join(each.get("text", "") for each in said if isinstance(each, dict))
    if not isinstance(said, str):
        return None
    _, framed, text = said.partition(_FRAMED)
    return "\n".join(line.removeprefix("  ") for line in text.split("\n")) if framed else said


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


def _is_useful(line: dict[str, Any]) -> bool:
    return line.get("type") == "result" and says_something(line.get("result"))


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
