"""The `hookimpl` marker, which makes a function of a handler file answer an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from pluggy import HookimplMarker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.plugins.hooks import Answer

PROJECT_NAME = "holdfast"
Function = TypeVar("Function", bound="Callable[..., Answer]")
_marker = HookimplMarker(PROJECT_NAME)


@overload
def hookimpl(function: Function) -> Function: ...
@overload
def hookimpl(
    *,
    match: str | None = None,
    timeout: float | None = None,
    strict: bool = False,
    tryfirst: bool = False,
    trylast: bool = False,
    on_failure: Literal["skip", "ask", "deny"] = "skip",
    once: Literal["turn", "session"] | None = None,
    background: bool = False,
    examples: Mapping[str, str | Mapping[str, Any] | None] | None = None,
) -> Callable[[Function], Function]: ...
def hookimpl(
    function: Function | None = None,
    *,
    match: str | None = None,
    timeout: float | None = None,
    strict: bool = False,
    tryfirst: bool = False,
    trylast: bool = False,
    on_failure: Literal["skip", "ask", "deny"] = "skip",
    once: Literal["turn", "session"] | None = None,
    background: bool = False,
    examples: Mapping[str, str | Mapping[str, Any] | None] | None = None,
) -> Any:
    """Mark a function `on_<event>` as an answer to that event: pluggy's marker plus options of Holdfast.

    All options must be literals: they are read from the file's text without importing it, so that an event
    nobody wants starts no process and an untrusted file is never run.

    Args:
        function: the function, if the marker is used without parentheses.
        match: the wanted values of the event's matcher field, in the client's own matcher syntax
            (`"Bash"`, `"Edit|Write"`, `"mcp__.*"`); `None` is all.
        timeout: seconds this function may take, at most 2,700 (on SessionEnd 45), even if that is more than
            `handlers.deadline` in the configuration; `None` means `handlers.timeout`.
        strict: the function's own failure becomes a refusal. Only on events whose hook allows it (`Hook.strict`).
        tryfirst: run before the others (pluggy).
        trylast: run after the others (pluggy).
        on_failure: what becomes of the event if this function fails: `skip` it, `ask` the user, or `deny`. A strict one
            denies whatever happens, even if Holdfast itself can't run.
        once: answer only once in a `turn` or a `session`: after its first outcome it isn't called any more.
        background: run while Claude goes on. The client doesn't wait for the answer, so it may be `advise`, `tell_user`
            or `environment` only.
        examples: what the function answers, for `holdfast handlers test`: a text, such as a command, and the kind of
            outcome (`"deny"`), or None for silence.

    Returns:
        The function itself, marked.
    """
    # `holdfast.plugins.scan` reads these from the source text, never from the running function.
    del match, timeout, strict, on_failure, once, background, examples

    def mark(target: Function) -> Function:
        return _marker(target, tryfirst=tryfirst, trylast=trylast)

    return mark if function is None else mark(function)
