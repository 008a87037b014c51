"""The fields of `ConfigChange`."""

from holdfast.clients.claude.events.event import Event


class ConfigChange(Event):
    """What the client sends with `ConfigChange`.

    Attributes:
        source: `user_settings`, `project_settings`, `local_settings`, `policy_settings`, `skills` or a newer one.
        file_path: the file.
    """

    source: str = ""
    file_path: str | None = None
