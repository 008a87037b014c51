"""What all events share: fields, and how a payload is read that differs from what is expected."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

from holdfast.errors import EventError

Identifier = Annotated[str, Field(coerce_numbers_to_str=True)]
"""An opaque id: a string, though some clients have sent numbers (client fact §7)."""


class Record(BaseModel):
    """A typed, frozen object that the client sent; unknown keys are in `model_extra`.

    An optional field with a value of an unexpected type keeps its default, and the value goes to `unreadable`, so that
    a change in the client never prevents a save. `null` is the same as absent. Only a required field that is missing or
    of a wrong type is an error.
    """

    # Built at first use, so that an event pays only for the models it needs.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    _unreadable: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def unreadable(self) -> dict[str, Any]:
        """The values that no field could take, unchanged, by the client's key."""
        return self._unreadable

    @model_validator(mode="wrap")
    @classmethod
    def _set_aside(cls, values: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        fit = values
        while True:
            try:
                record = read(fit)
            except ValidationError as problem:
                unfit = cls._unfit(fit, problem)
                if not unfit:
                    raise
                fit = {key: value for key, value in fit.items() if key not in unfit}
            else:
                break
        if fit is not values:
            record._unreadable.update((k, v) for k, v in values.items() if k not in fit and v is not None)
        return record

    @classmethod
    def _unfit(cls, values: Any, problem: ValidationError) -> set[Any]:
        """Return the keys to leave out for a second reading; none if a required one is among them."""
        if not isinstance(values, Mapping):
            return set()
        # A key that is no text hides all other errors, so it is removed first; the next reading finds the rest.
        unfit = {key for key in values if not _is_text(key)} or {
            fault["loc"][0] for fault in problem.errors(include_url=False, include_context=False) if fault["loc"]
        }
        return set() if unfit & cls.required() else unfit

    @classmethod
    def required(cls) -> frozenset[str]:
        """Return the names of the required fields."""
        return frozenset(name for name, field in cls.model_fields.items() if field.is_required())


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

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """Return a copy in which a handler has replaced the values of some fields."""
        return self.model_copy(update=values)

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
        return (
            f"{cls.__name__}: the field {field!r} {what}; this Claude Code may be too old or too new for this holdfast"
        )


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


def _is_text(key: object) -> bool:
    """Return whether pydantic can keep a key: JavaScript can split an emoji, and half of one can't be encoded."""
    if not isinstance(key, str):
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
