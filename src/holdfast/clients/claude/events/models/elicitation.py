"""The fields of `Elicitation`."""

from typing import Any

from holdfast.clients.claude.events.elicitation import ElicitationEvent


class Elicitation(ElicitationEvent):
    """What the client sends with `Elicitation`.

    Attributes:
        message: the question.
        url: the page the user is asked to visit, in mode `url`.
        requested_schema: the JSON schema of the form, in mode `form`.
    """

    message: str = ""
    url: str | None = None
    requested_schema: dict[str, Any] | None = None
