"""`InstructionsLoaded` fires when a CLAUDE.md, a rule or a file imported by one was loaded.

Example::

    from holdfast import hookimpl

    @hookimpl(match="nested_traversal")
    def on_instructions_loaded(event, context):
        context.log(f"loaded {event.file_path}")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


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

    matcher_field: ClassVar[str | None] = "load_reason"
    accepts = frozenset({"terminal"})

    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""
    globs: tuple[str, ...] = ()
    trigger_file_path: str | None = None
    parent_file_path: str | None = None
