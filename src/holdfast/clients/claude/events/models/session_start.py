"""The fields of `SessionStart`."""

from holdfast.clients.claude.events.event import Event


class SessionStart(Event):
    """What the client sends with `SessionStart`.

    Attributes:
        source: `startup`, `resume`, `clear`, `compact`, `fork` or a newer one. `compact` is where lost context
            can be restored (client fact §2.2).
        model: the model's name; absent on many starts.
        session_title: the session's title.
        seconds_since_last_response: on resume and fork, how long the conversation was idle.
        context_tokens: on resume and fork, the size of the context in tokens.
        prompt_cache_likely_expired: on resume and fork, whether the prompt cache is probably cold.
        estimated_cache_write_usd: on resume and fork, what filling it again would cost, in US dollars.
    """

    source: str = ""
    model: str | None = None
    session_title: str | None = None
    seconds_since_last_response: int | float | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None
