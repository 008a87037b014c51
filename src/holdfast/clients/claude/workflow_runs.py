"""The runs of the client's Workflow tool: their scripts, which agents they started, and what these returned.

The format is undocumented (client fact §8), so whatever is not exactly as expected counts as unknown and is left alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import scopes
from holdfast.clients.client import Journal, ScriptAgent, ScriptRuns
from holdfast.errors import StateError
from holdfast.files import atomic, document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAME = "journal.jsonl"
LIMIT_BYTES = 64 << 20  # a longer journal is left alone
SCRIPT_LIMIT_CHARS = 524_288  # of a script (client fact §8)
_RUN = re.compile(r"/subagents/workflows/(wf_[a-z0-9-]{6,64})/")
_SAFE_RUN = re.compile(r"wf_[a-z0-9-]{6,64}")
_NAMED_RUN = re.compile(r"(?<![A-Za-z0-9_-])wf_[a-z0-9-]{6,64}(?![A-Za-z0-9_])")
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KEY = re.compile(r"v2:[0-9a-f]{64}")  # the only version whose keys are known to mean the same call
_RUN_KINDS = ("launched", "resumed", "restoring", "restored")  # lines about the run, not about an agent
_AGENT_KINDS = ("started", "result", "failed")
_META = re.compile(r"export\s+const\s+meta\s*=\s*(?=\{)")
_NAME = re.compile(r"\bname\s*:\s*(['\"`])((?:\\.|(?!\1).)*)\1")


class WorkflowRuns(ScriptRuns):
    """The client's files about the agents of its Workflow tool."""

    def run_of(self, transcript: str) -> str:
        found = _RUN.search(transcript)
        return found[1] if found else ""

    def named_in(self, text: str) -> list[str]:
        return list(dict.fromkeys(_NAMED_RUN.findall(text)))

    def folder(self, transcript: str, run: str) -> Path | None:
        if not transcript.endswith(".jsonl") or not _SAFE_RUN.fullmatch(run):
            return None
        return Path(transcript.removesuffix(".jsonl")) / "subagents" / "workflows" / run

    def journal(self, folder: Path) -> Journal | None:
        """Return the content of a run's journal.

        The client drops a result when a later line says `started` or `failed` for the same key. Here the result counts.
        """
        lines = list(_lines(folder))
        if not lines:
            return None
        agents, known = dict[str, ScriptAgent](), True
        for line in lines:
            kind, key = line.get("type"), line.get("key")
            if kind in _RUN_KINDS:
                known = known and not line.get("hiddenScriptSha256")  # only the process that hid it may resume it
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

    def ended(self, folder: Path) -> str:
        record = folder.parent.parent.parent / "workflows" / f"{folder.name}.json"
        try:
            value = json.loads(document.read(record, LIMIT_BYTES)[0])
        except (OSError, ValueError, StateError):
            return ""
        return str(value.get("status") or "completed") if isinstance(value, dict) else ""

    def script(self, transcript: str, given: Mapping[str, Any], root: Path) -> str | None:
        """Return the text of the script that a call asks for: the client prefers `scriptPath` to `script` to `name`."""
        path, text, name = (given.get(key) for key in ("scriptPath", "script", "name"))
        files: list[Path] = []
        if isinstance(path, str) and path:
            files = [root / path]
        elif isinstance(text, str) and text:
            return text
        elif isinstance(name, str) and _SAFE.fullmatch(name):
            files = [folder / "workflows" / f"{name}.js" for folder in (root / ".claude", scopes.claude_dir())]
        for file in files:
            with suppress(OSError, ValueError, StateError):
                return document.read(file, SCRIPT_LIMIT_CHARS * 4)[0].decode()
        return None

    def script_name(self, script: str) -> str:
        found = _META.search(script)
        named = _NAME.search(script, found.end()) if found else None
        return named[2] if named else ""

    def carry(self, folder: Path, target: Path) -> bool:
        lines = _repaired(list(_lines(folder)))
        if not lines or target.exists() or not target.parent.parent.parent.parent.is_dir():
            return False
        text = "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines)
        made = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            made.mkdir(parents=True, mode=0o700)
            atomic.write(made / NAME, text.encode("utf-8", "surrogatepass"), mode=0o600)
            made.rename(target)
        except (OSError, StateError):
            shutil.rmtree(made, ignore_errors=True)
            return False
        return True

    def carry_agent(self, transcript: str, agent: str, target: str) -> bool:
        if not (transcript.endswith(".jsonl") and target.endswith(".jsonl") and _SAFE.fullmatch(agent)):
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
