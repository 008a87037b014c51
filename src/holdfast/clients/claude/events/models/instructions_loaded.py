"""The fields of `InstructionsLoaded`."""

from holdfast.clients.claude.events.event import Event


class InstructionsLoaded(Event):
    """What the client sends with `InstructionsLoaded`.

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
