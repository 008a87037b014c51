"""Events of a session: its start, its end and its compactions."""

from holdfast.clients.claude.events.event import Event


class SessionStart(Event):
    """A session began or continues.

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


class Setup(Event):
    """The client was run to set up or to maintain a project.

    Attributes:
        trigger: `init` or `maintenance`.
    """

    trigger: str = ""


class SessionEnd(Event):
    """A session ended.

    Attributes:
        reason: `clear`, `resume`, `logout`, `prompt_input_exit`, `other`, one of older clients
            (`bypass_permissions_disabled`, `exit`) or a newer one.
    """

    reason: str = ""


class PreCompact(Event):
    """A compaction is about to start.

    Attributes:
        trigger: `manual` or `auto`.
        custom_instructions: what the user asked the summary to keep; `None` or empty when nothing.
    """

    trigger: str = ""
    custom_instructions: str | None = None


class PostCompact(Event):
    """A compaction has taken place.

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: the summary as the model wrote it, often with `<analysis>` and `<summary>` tags; may be empty.
    """

    trigger: str = ""
    compact_summary: str = ""
