"""`ConfigChange` fires when a settings or skill file changed; blocking keeps the change from taking effect.

Example::

    from holdfast import block, hookimpl

    @hookimpl(match="project_settings")
    def on_config_change(event):
        return block("the project's settings change by review only")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class ConfigChange(Event):
    """A settings or skill file changed; blocking keeps the change from taking effect.

    Attributes:
        source: `user_settings`, `project_settings`, `local_settings`, `policy_settings`, `skills` or a newer one.
        file_path: the file.
    """

    matcher_field: ClassVar[str | None] = "source"
    accepts = frozenset({"block", "terminal"})

    source: str = ""
    file_path: str | None = None
