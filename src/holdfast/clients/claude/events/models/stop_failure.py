"""The fields of `StopFailure`."""

from holdfast.clients.claude.events.event import Event


class StopFailure(Event):
    """What the client sends with `StopFailure`.

    Attributes:
        error: the kind of error, such as `rate_limit`, `overloaded`, `server_error`, `max_output_tokens`.
        error_details: more about it.
        last_assistant_message: the turn's last words, often the error as the user sees it.
    """

    error: str = ""
    error_details: str | None = None
    last_assistant_message: str | None = None
