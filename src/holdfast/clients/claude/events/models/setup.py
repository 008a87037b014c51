"""`Setup` fires when the client is run to set up or to maintain a project (`--init`, `--maintenance`).

Example::

    from holdfast import environment, hookimpl

    @hookimpl(match="init")
    def on_setup(event):
        return environment({"PROJECT_STAGE": "setup"})
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class Setup(Event):
    """The client was run to set a project up or to maintain it (`--init-only`, `--init`, `--maintenance`).

    Attributes:
        trigger: `init` or `maintenance`.
    """

    matcher_field: ClassVar[str | None] = "trigger"
    accepts = frozenset({"advise", "environment", "tell_user", "terminal"})

    trigger: str = ""
