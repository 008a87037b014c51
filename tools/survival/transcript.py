"""The transcript of a simulated session, with entries shaped like the client's."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_VERSION = "2.1.329"


class Transcript:
    """A JSONL file to which entries are appended; every entry names the one before it.

    Attributes:
        path: its path; the file doesn't exist before the first entry.
        session: the session's id.
        last: the id of the last entry, or None.
    """

    def __init__(self, path: Path, session: str, cwd: str, last: str | None = None) -> None:
        self.path, self.session, self.last = path, session, last
        self._cwd, self._count = cwd, 0

    def asked(self, words: str) -> None:
        """Append the user's prompt."""
        self._message("user", [{"type": "text", "text": words}], promptSource="sdk", permissionMode="default")

    def answered(self, words: str) -> None:
        """Append the model's answer."""
        self._message("assistant", [{"type": "text", "text": words}])

    def told(self, event: str, source: str, contexts: Sequence[str]) -> None:
        """Append what hooks told the model with an event's reply, one entry for each text."""
        name = f"{event}:{source}" if source else event
        for context in contexts:
            self._attachment(
                {"type": "hook_additional_context", "content": [context], "hookName": name, "hookEvent": event}
            )

    def wrote(self, entry: dict[str, Any]) -> None:
        """Append a client's entry after the last one."""
        self._append({**entry, "parentUuid": self.last})

    def compacted(self, trigger: str, summary: str, before: str | None) -> None:
        """Append a compaction's boundary, which names the last entry before it, and the summary."""
        metadata = {"trigger": trigger, "preTokens": 90_000}
        head = {"parentUuid": None, "logicalParentUuid": before, "isSidechain": False, "type": "system"}
        words = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
        self._append({**head, **words, "compactMetadata": metadata})
        lead = "This session is being continued from a previous conversation that ran out of context."
        text = f"{lead}\nSummary:\n{summary}"
        self._message("user", text, isVisibleInTranscriptOnly=True, isCompactSummary=True)

    def forked(self, path: Path, session: str) -> Transcript:
        """Return the transcript of a session that is forked here; it begins with these entries and their ids."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]
        path.write_text("".join(_line(entry | {"sessionId": session}) for entry in lines), "utf-8")
        return Transcript(path, session, self._cwd, self.last)

    def _message(self, role: str, content: object, **more: Any) -> None:
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"type": "message", "model": "claude-sonnet-4-5", "stop_reason": "end_turn"}
        self._append({"parentUuid": self.last, "isSidechain": False, "type": role, "message": message, **more})

    def _attachment(self, attachment: dict[str, Any]) -> None:
        self._append({"parentUuid": self.last, "isSidechain": False, "attachment": attachment, "type": "attachment"})

    def _append(self, entry: dict[str, Any]) -> None:
        self._count += 1
        self.last = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.path}:{self._count}"))
        common = {"uuid": self.last, "cwd": self._cwd, "sessionId": self.session, "version": _VERSION}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line({**entry, **common}))


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"


def summary_of(facts: Iterable[str]) -> str:
    """Return a summary like those of a compaction's own agent, with some facts word for word."""
    kept = "; ".join(facts)
    return f"<analysis>Long work.</analysis>\n<summary>\nThe session worked on several things. {kept}\n</summary>"
