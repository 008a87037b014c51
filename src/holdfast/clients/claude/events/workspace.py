"""Events about files, folders, settings and worktrees."""

from holdfast.clients.claude.events.event import Event


class ConfigChange(Event):
    """A settings or skill file changed.

    Attributes:
        source: `user_settings`, `project_settings`, `local_settings`, `policy_settings`, `skills` or a newer one.
        file_path: the file.
    """

    source: str = ""
    file_path: str | None = None


class InstructionsLoaded(Event):
    """A CLAUDE.md, a rule or a file imported by one was loaded.

    Attributes:
        file_path: the file.
        memory_type: `User`, `Project`, `Local` or `Managed`.
        load_reason: `session_start`, `nested_traversal`, `path_glob_match`, `include`, `compact` or a newer one.
        globs: the path patterns of a rule that applies to some files only.
        trigger_file_path: the file whose use loaded it.
        parent_file_path: the file that imports it.
    """

    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""
    globs: tuple[str, ...] = ()
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class CwdChanged(Event):
    """The model's working directory has changed.

    Attributes:
        old_cwd: the folder before.
        new_cwd: the folder after.
    """

    old_cwd: str = ""
    new_cwd: str = ""


class FileChanged(Event):
    """A watched file changed.

    Attributes:
        file_path: the file.
        event: `change`, `add` or `unlink`.
    """

    file_path: str = ""
    event: str = ""


class DirectoryAdded(Event):
    """A folder was added to those the session may work in.

    Attributes:
        directory: the folder.
        source: `slash_command`, `register_repo_root` or a newer one.
    """

    directory: str = ""
    source: str = ""


class WorktreeCreate(Event):
    """A worktree is to be created.

    Attributes:
        name: the new worktree's name.
    """

    name: str = ""


class WorktreeRemove(Event):
    """A worktree that a handler made is to be removed.

    Attributes:
        worktree_path: its folder.
    """

    worktree_path: str = ""
