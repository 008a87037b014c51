"""The outcomes that a handler may return: one constructor per kind.

Each event's hook says which kinds it accepts (`Hook.accepts`). So an outcome that the client would reject or ignore
becomes a named fault of the handler instead of silence in the session.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from math import inf
from os import fspath
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike
    from typing import Protocol

    class Message(Protocol):
        """The part of `holdfast.sessions.Message` that `deliver` needs."""

        @property
        def text(self) -> str:
            """The message's text."""

        @property
        def to_user(self) -> bool:
            """Whether the message is for the user instead of the model."""

        @property
        def must_keep(self) -> bool:
            """As `advise` takes it."""

        @property
        def on_delivered(self) -> Callable[[], object] | None:
            """As `advise` takes it."""


BACKGROUND = frozenset({"advise", "tell_user", "environment"})
"""The kinds that may come late: nothing waits for them."""
CLASSIFIER_LIMIT_UNITS = 2_000  # UTF-16 units, client fact §1.9
TERMINAL_LIMIT_BYTES = 4_096  # of UTF-8, all handlers' sequences together (read in clients 2.1.197 and 2.1.329)
# What the client lets through. It drops the whole text for one bad sequence, and so other handlers' sequences too.
_SEQUENCES = re.compile(
    r"(?:\x07|\x1b\](?:(?:0|1|2|99|777)(?:;[^\x07\x1b]*)?|9;(?:4;[0-4](?:;(?:100|\d{1,2})?)?|(?![\s\u180e\u200b]*[+-]?\d)"
    r"[^\x07\x1b]*))(?:\x07|\x1b\\))+"
)


class OutcomeError(ValueError):
    """An invalid outcome: of a wrong type, empty, or not accepted on the event."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer of a handler to an event.

    Attributes:
        kind: the constructor's name.
        text: the text, if the kind has one.
        value: the data, if the kind has any (JSON values only).
        priority: if the client's limit forces a choice, advice of higher priority goes first.
        must_keep: keep this advice before any other, whatever the priorities.
        on_delivered: called after a reply that contains this advice or message in full was written.
    """

    kind: str
    text: str = ""
    value: Any = None
    priority: int = 0
    must_keep: bool = False
    on_delivered: Callable[[], object] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raise OutcomeError for what can't be merged, because it would cost the other handlers their answers."""
        _string(self.kind, self.text)
        if not isinstance(self.priority, (int, float)):
            raise OutcomeError(f"{self.kind}() takes a number as priority, not {type(self.priority).__name__}")
        if not (self.on_delivered is None or callable(self.on_delivered)):
            raise OutcomeError(
                f"{self.kind}() takes a function as on_delivered, not {type(self.on_delivered).__name__}"
            )


def advise(
    text: str, *, priority: int = 0, must_keep: bool = False, on_delivered: Callable[[], object] | None = None
) -> Outcome:
    """Give the model a text as context (`additionalContext`); never forces another turn.

    Args:
        text: the advice, in whole lines; facts work better than commands (client fact §1.8).
        priority: if the client's limit forces a choice, advice of higher priority goes first.
        must_keep: keep this advice before any other.
        on_delivered: called after a reply that contains the text in full was written.
    """
    return Outcome("advise", _words("advise", text), None, priority, must_keep, on_delivered)


def deliver(messages: Iterable[Message]) -> list[Outcome]:
    """Turn messages of `holdfast.sessions` or `holdfast.workflows` into outcomes.

    Args:
        messages: messages for the model or the user (`holdfast.sessions.Message`).

    Returns:
        Advice for the model, messages for the user, in the same order.
    """
    return [
        tell_user(each.text, on_delivered=each.on_delivered)
        if each.to_user
        else advise(each.text, must_keep=each.must_keep, on_delivered=each.on_delivered)
        for each in messages
    ]


def force_turn(text: str, *, at_most: int | None = None, within: float | None = None) -> Outcome:
    """Give the model a text on Stop or SubagentStop and make it take another turn.

    Holdfast counts the turns that a handler has forced one after the other. Without a bound, it lets Claude stop after
    three, and tells the user. `block()` on these events forces a turn too, and has the same bound.

    Args:
        text: what is left to do.
        at_most: how many turns in a row the handler forces at most.
        within: seconds after the first forced turn in which it forces another.
    """
    bound = {"at_most": at_most, "within": within}
    if at_most is not None and (not isinstance(at_most, int) or isinstance(at_most, bool) or at_most < 1):
        raise OutcomeError(f"force_turn() takes a positive whole number as at_most, not {at_most!r}")
    if within is not None and (not isinstance(within, int | float) or isinstance(within, bool) or not 0 < within < inf):
        raise OutcomeError(f"force_turn() takes a positive number of seconds as within, not {within!r}")
    bounds = {name: value for name, value in bound.items() if value is not None}
    return Outcome("force_turn", _words("force_turn", text), bounds or None)


def instruct_summary(text: str) -> Outcome:
    """Add a plain text to the summariser's instructions on PreCompact (client fact §2.3)."""
    return Outcome("instruct_summary", _words("instruct_summary", text))


def deny(reason: str, *, interrupt: bool = False) -> Outcome:
    """Refuse a tool call, a permission or a model switch.

    Args:
        reason: the reason that the model (or the user) sees.
        interrupt: on PermissionRequest, end the turn as well.
    """
    return Outcome("deny", _words("deny", reason), {"interrupt": True} if interrupt else None)


def ask(reason: str) -> Outcome:
    """Ask the user before a tool call or a model switch."""
    return Outcome("ask", _words("ask", reason))


def allow(reason: str = "", *, permissions: Sequence[Mapping[str, Any]] = ()) -> Outcome:
    """Approve a tool call, a permission or a model switch without asking the user.

    Args:
        reason: shown with the decision; may be empty.
        permissions: on PermissionRequest, permission updates to apply (`updatedPermissions`).
    """
    return Outcome("allow", _string("allow", reason), _data("allow", list(permissions)) or None)


def defer(reason: str = "") -> Outcome:
    """Leave a tool call to be decided later by the program that drives the client (PreToolUse, headless)."""
    return Outcome("defer", _string("defer", reason))


def block(reason: str) -> Outcome:
    """Block what the event is about: a prompt, a compaction, a stop, a task, a settings change; deny a tool call."""
    return Outcome("block", _words("block", reason))


def change_input(tool_input: Mapping[str, Any]) -> Outcome:
    """Replace the whole input of a tool call; this never approves the call, only `allow()` does.

    Args:
        tool_input: the complete new input, JSON values only. Later handlers see it.
    """
    if not isinstance(tool_input, dict) and not hasattr(tool_input, "items"):
        raise OutcomeError(f"change_input() takes the whole input as a mapping, not {type(tool_input).__name__}")
    return Outcome("change_input", value=_data("change_input", dict(tool_input)))


def change_output(tool_output: Any) -> Outcome:
    """Replace what the model sees as a tool's result.

    Args:
        tool_output: the complete new output, JSON values only, in the shape of the tool's own. Later handlers see it
            as `event.tool_response`.
    """
    if tool_output is None:
        raise OutcomeError("change_output() takes the new output, not None")
    return Outcome("change_output", value=_data("change_output", tool_output))


def classify(text: str) -> Outcome:
    """Give the client's permission classifier a note on a tool result; at most 2,000 UTF-16 units."""
    return Outcome("classify", _words("classify", text))


def stop(reason: str) -> Outcome:
    """End the turn after this event (`continue: false`); the reason is shown to the user."""
    return Outcome("stop", _words("stop", reason))


def tell_user(text: str, *, on_delivered: Callable[[], object] | None = None) -> Outcome:
    """Show the user a message; the model does not see it.

    Args:
        text: the message.
        on_delivered: called after a reply that contains the message was written; not on events whose reply is plain
            text.
    """
    return Outcome("tell_user", _words("tell_user", text), on_delivered=on_delivered)


def environment(variables: Mapping[str, str], *, path: Sequence[str | PathLike[str]] = ()) -> Outcome:
    """Set environment variables for the model's Bash commands (appended to `CLAUDE_ENV_FILE`).

    Args:
        variables: names and values.
        path: folders to append to the end of PATH.
    """
    for name, value in variables.items():
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise OutcomeError(f"environment(): {name!r} is not a variable name")
        _string("environment", value)
    return Outcome("environment", value={"variables": dict(variables), "path": _paths("environment", path)})


def watch(paths: Sequence[str | PathLike[str]]) -> Outcome:
    """Ask the client to watch files (absolute paths) and to fire FileChanged for them."""
    return Outcome("watch", value=_paths("watch", paths))


def title(text: str) -> Outcome:
    """Name the session."""
    return Outcome("title", _words("title", text))


def initial_message(text: str) -> Outcome:
    """Start a headless session with this user message; `@path` in it is expanded (client fact §4.6)."""
    return Outcome("initial_message", _words("initial_message", text))


def reload_skills() -> Outcome:
    """Ask the client to read its skills again at SessionStart."""
    return Outcome("reload_skills")


def retry() -> Outcome:
    """Let the model try a call again that auto mode denied (PermissionDenied)."""
    return Outcome("retry")


def answer(action: Literal["accept", "decline", "cancel"], content: Mapping[str, Any] | None = None) -> Outcome:
    """Answer an MCP server's question in the user's place.

    Args:
        action: the answer.
        content: the form's values, for `accept`. Later handlers see them as `event.content`, but can't undo an earlier
            handler's refusal.
    """
    if action not in ("accept", "decline", "cancel"):
        raise OutcomeError(f"answer() takes accept, decline or cancel, not {action!r}")
    return Outcome("answer", action, None if content is None else _data("answer", dict(content)))


def suppress_prompt() -> Outcome:
    """Keep the user's original prompt out of the conversation."""
    return Outcome("suppress_prompt")


def worktree(path: str | PathLike[str]) -> Outcome:
    """Return the folder that was made for WorktreeCreate; its name must be one line."""
    words = _path("worktree", path)
    if "\n" in words:
        raise OutcomeError("worktree() takes one line")
    return Outcome("worktree", words)


def display(text: str) -> Outcome:
    """Change the text shown on the screen; the conversation keeps the assistant's own.

    Args:
        text: the complete new text. Later handlers see it as `event.delta`.
    """
    return Outcome("display", _string("display", text))


def terminal(sequence: str) -> Outcome:
    """Send escape sequences to the user's terminal, in interactive sessions.

    Args:
        sequence: BEL (`"\\a"`), or OSC 0, 1, 2, 9, 99 or 777 closed by BEL or ST, one or several. The client drops
            everything else, and an OSC 9 text that begins with a digit.
    """
    if not _SEQUENCES.fullmatch(_words("terminal", sequence)) or _size(sequence) > TERMINAL_LIMIT_BYTES:
        raise OutcomeError(
            f"terminal() takes BEL or OSC 0, 1, 2, 9, 99, 777, at most {TERMINAL_LIMIT_BYTES} bytes; Claude Code would"
            f" drop {sequence[:40]!r}"
        )
    return Outcome("terminal", sequence)


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON values, for the pipes between the handlers' processes."""
    return {
        "kind": outcome.kind,
        "text": outcome.text,
        "value": outcome.value,
        "priority": outcome.priority,
        "must_keep": outcome.must_keep,
    }


def from_json(values: Mapping[str, Any]) -> Outcome:
    """Return the outcome of `to_json`'s values, without `on_delivered`, which stays in the handlers' process."""
    return Outcome(**values)


def flatten(returned: object) -> tuple[Outcome, ...]:
    """Return the outcomes in a handler's return value.

    Args:
        returned: `None`, an outcome, or a list or tuple of outcomes (`None` among them is skipped).

    Raises:
        OutcomeError: it is of another type, which the message names.
    """
    if returned is None:
        return ()
    if isinstance(returned, Outcome):
        return (returned,)
    if isinstance(returned, (list, tuple)):
        return tuple(outcome for item in returned for outcome in flatten(item))
    raise OutcomeError(
        f"returned {type(returned).__name__}; a handler returns None, an outcome such as advise(…), or a list of them"
    )


def check(outcome: Outcome, event: str, accepts: frozenset[str], *, background: bool = False) -> None:
    """Raise an error for an outcome that the event doesn't accept.

    Args:
        outcome: the handler's outcome.
        event: the event's name.
        accepts: the kinds the event accepts (`Hook.accepts`).
        background: whether the handler runs in the background.

    Raises:
        OutcomeError: the event doesn't accept it; the message names the kind, the event and what is accepted.
    """
    allowed = accepts & BACKGROUND if background else accepts
    if outcome.kind in allowed:
        return
    hint = ""
    if outcome.kind in accepts:
        hint = " from the background, where it comes too late"
    elif outcome.kind == "advise" and "force_turn" in accepts:
        hint = "; advice there forces another turn, so say force_turn(…)"
    elif outcome.kind in ("advise", "tell_user") and "instruct_summary" in accepts:
        hint = "; say instruct_summary(…)"
    elif outcome.kind == "terminal":
        hint = ", whose output is plain text"
    raise OutcomeError(
        f"{outcome.kind}() is not accepted on {event}{hint} (accepted: {', '.join(sorted(allowed)) or 'none'})"
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _string(kind: str, text: object) -> str:
    if not isinstance(text, str):
        raise OutcomeError(f"{kind}() takes a string, not {type(text).__name__}")
    return text


def _words(kind: str, text: object) -> str:
    words = _string(kind, text)
    if not words.strip():
        raise OutcomeError(f"{kind}() takes a text that says something; return None to say nothing")
    return words


def _paths(kind: str, items: Sequence[str | PathLike[str]]) -> list[str]:
    if isinstance(items, (str, bytes)):
        raise OutcomeError(f"{kind}() takes a list of paths, not one {type(items).__name__}")
    return [_path(kind, item) for item in items]


def _path(kind: str, item: str | PathLike[str]) -> str:
    try:
        return _words(kind, fspath(item))
    except TypeError:
        raise OutcomeError(f"{kind}() takes a path, not {type(item).__name__}") from None


def _data(kind: str, value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise OutcomeError(f"{kind}() takes JSON values only: {error}") from error
