"""The fields that all events share."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import ValidationError

from holdfast.clients.claude.events.record import Record
from holdfast.errors import EventError


class Effort(Record):
    """How hard the model is set to think.

    Attributes:
        level: `low`, `medium`, `high`, `xhigh` or `max`; newer clients may send others.
    """

    level: str = ""


class Event(Record):
    """One firing of a Claude Code hook; the fields carry the client's own names (client fact §1.2).

    Only fields that an event is meaningless without, or that a guard inspects, are required: the session, a tool's
    name, its input, a prompt. Any other field may be absent: then it is `None`, or its type's empty value if the
    client normally always sends it.

    Attributes:
        session_id: the session; opaque, usually a UUID.
        hook_event_name: the event's name, such as `PreCompact`.
        transcript_path: the session's JSONL file; may be empty, and the file may lag or not exist yet.
        cwd: where the model is working; follows its `cd`, so it is not the project's root.
        prompt_id: the user prompt this belongs to.
        permission_mode: `default`, `acceptEdits`, `bypassPermissions`, `plan`, `dontAsk`, `auto` or a newer one.
        agent_id: the subagent this happened in; `None` in the main conversation.
        agent_type: the subagent's type, or the main conversation's `--agent` name.
        effort: how hard the model is set to think.
        scratchpad_dir: the session's scratch folder.
    """

    session_id: str
    hook_event_name: str
    transcript_path: str = ""
    cwd: str = ""
    prompt_id: str | None = None
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    effort: Effort | None = None
    scratchpad_dir: str | None = None

    @property
    def in_subagent(self) -> bool:
        """Whether this belongs to a subagent, which shares its parent's `session_id` (client fact §1.2)."""
        return bool(self.agent_id)

    @property
    def reaches_agent(self) -> bool:
        """Whether a handler's advice reaches a subagent instead of the main conversation."""
        return self.in_subagent

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Self:
        """Parse a payload of this event.

        Args:
            payload: the JSON object the client sent.

        Raises:
            EventError: a required field is missing or of a wrong type.
        """
        try:
            return cls.model_validate(dict(payload))
        except ValidationError as problem:
            raise EventError(cls._complaint(payload, problem)) from problem

    @classmethod
    def _complaint(cls, payload: Mapping[str, Any], problem: ValidationError) -> str:
        faults = problem.errors(include_url=False, include_context=False)
        field = next(str(fault["loc"][0]) for fault in faults if fault["loc"] and fault["loc"][0] in cls.required())
        what = f"has an unusable value ({_kind(payload[field])})" if field in payload else "is missing"
        return f"{cls.__name__}: the field {field!r} {what}; this client may be too old or too new for this holdfast"


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
