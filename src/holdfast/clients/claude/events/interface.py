"""Events about what the user sees and chooses: models, notifications, messages and questions."""

from typing import Any

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


class ElicitationEvent(Event):
    """An event about one question.

    Attributes:
        mcp_server_name: the server that asks.
        mode: `form` or `url`.
        elicitation_id: the question's id.
        action: the answer of the user or of an earlier handler: `accept`, `decline` or `cancel`; empty before there
            is one.
        content: the form's values, with `accept`.
    """

    mcp_server_name: str = ""
    mode: str | None = None
    elicitation_id: str | None = None
    action: str = ""
    content: dict[str, Any] | None = None


class PreModelSwitch(ModelSwitchEvent):
    """The session's model is about to change."""


class PostModelSwitch(ModelSwitchEvent):
    """The session's model has changed."""


class Notification(Event):
    """The client notifies the user.

    Attributes:
        message: the text.
        title: its heading.
        notification_type: what it is about, such as `permission_prompt`, `idle_prompt`, `agent_completed`.
    """

    message: str = ""
    title: str | None = None
    notification_type: str = ""


class MessageDisplay(Event):
    """A piece of the assistant's text is about to appear on the screen.

    Attributes:
        turn_id: the turn.
        message_id: the message.
        index: the piece's position in the message, from 0.
        final: whether it is the last one.
        delta: the text.
    """

    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = False
    delta: str = ""


class Elicitation(ElicitationEvent):
    """An MCP server asks the user something.

    Attributes:
        message: the question.
        url: the page the user is asked to visit, in mode `url`.
        requested_schema: the JSON schema of the form, in mode `form`.
    """

    message: str = ""
    url: str | None = None
    requested_schema: dict[str, Any] | None = None


class ElicitationResult(ElicitationEvent):
    """The user answered an MCP server's question."""
