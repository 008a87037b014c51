"""The fields that the events before and after a change of the session's model share."""

from holdfast.clients.claude.events.event import Event


class ModelSwitchEvent(Event):
    """An event about one change of model.

    Attributes:
        from_model: the model before.
        to_model: the model after; a matcher is compared with it.
        requested_model: the name that was asked for, such as `haiku`.
        source: `command`, `picker`, `sdk`; after the switch also `auto` and `resume`.
        context_tokens: the size of the context in tokens.
        prompt_cache_warm: whether the old model's prompt cache is warm.
        cache_ttl: how long a cache entry lives, `5m` or `1h`.
        estimated_cache_write_usd: what filling the new model's cache would cost, in US dollars.
        pricing: where the price comes from: `configured`, `catalog` or `default`.
    """

    from_model: str = ""
    to_model: str = ""
    requested_model: str | None = None
    source: str = ""
    context_tokens: int | None = None
    prompt_cache_warm: bool | None = None
    cache_ttl: str | None = None
    estimated_cache_write_usd: float | None = None
    pricing: str | None = None
