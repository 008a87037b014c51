"""The events of files and folders the client reads, watches or works in."""

from pathlib import PurePath
from typing import ClassVar

from holdfast.events.event import Event


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


class InstructionsLoaded(Event):
    """A CLAUDE.md, a rule or a file imported by one was loaded.

    Attributes:
        file_path: the file.
        memory_type: `User`, `Project`, `Local` or `Managed`.
        load_reason: `session_start`, `nested_traversal`, `path_glob_match`, `include`, `compact` or a newer one.
        globs: the patterns of a rule that is bound to paths.
        trigger_file_path: the file whose use brought it in.
        parent_file_path: the file that imports it.
    """

    matcher_field: ClassVar[str | None] = "load_reason"
    accepts = frozenset({"terminal"})

    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""
    globs: tuple[str, ...] = ()
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class CwdChanged(Event):
    """The folder the model works in moved.

    Attributes:
        old_cwd: the folder before.
        new_cwd: the folder after.
    """

    accepts = frozenset({"watch", "tell_user", "environment", "terminal"})

    old_cwd: str = ""
    new_cwd: str = ""


class FileChanged(Event):
    """A watched file changed. A matcher tests the file's name and also adds it to what is watched.

    Attributes:
        file_path: the file.
        event: `change`, `add` or `unlink`.
    """

    matcher_field: ClassVar[str | None] = "file_path"
    accepts = frozenset({"watch", "tell_user", "environment", "terminal"})

    file_path: str = ""
    event: str = ""

    @property
    def matcher_value(self) -> str | None:
        """The name of the file, without its folders."""
        return PurePath(self.file_path).name


class DirectoryAdded(Event):
    """A folder was added to those the session may work in.

    Attributes:
        directory: the folder.
        source: `slash_command`, `register_repo_root` or a newer one.
    """

    matcher_field: ClassVar[str | None] = "source"
    accepts = frozenset({"tell_user", "terminal"})

    directory: str = ""
    source: str = ""
