"""The inputs of Claude Code's own tools, for type checkers: a handler gets a plain dict."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class BashInput(TypedDict):
    """The input of Bash."""

    command: str
    description: NotRequired[str]
    timeout: NotRequired[int]
    run_in_background: NotRequired[bool]
    dangerouslyDisableSandbox: NotRequired[bool]


class ReadInput(TypedDict):
    """The input of Read."""

    file_path: str
    offset: NotRequired[int]
    limit: NotRequired[int]
    pages: NotRequired[str]


class EditInput(TypedDict):
    """The input of Edit."""

    file_path: str
    old_string: str
    new_string: str
    replace_all: NotRequired[bool]


class WriteInput(TypedDict):
    """The input of Write."""

    file_path: str
    content: str


class NotebookEditInput(TypedDict):
    """The input of NotebookEdit."""

    notebook_path: str
    new_source: str
    cell_id: NotRequired[str]
    cell_type: NotRequired[Literal["code", "markdown"]]
    edit_mode: NotRequired[Literal["replace", "insert", "delete"]]


class GlobInput(TypedDict):
    """The input of Glob."""

    pattern: str
    path: NotRequired[str]


GrepInput = TypedDict(
    "GrepInput",
    {
        "pattern": str,
        "path": NotRequired[str],
        "glob": NotRequired[str],
        "type": NotRequired[str],
        "output_mode": NotRequired[Literal["content", "files_with_matches", "count"]],
        "-A": NotRequired[int],
        "-B": NotRequired[int],
        "-C": NotRequired[int],
        "-i": NotRequired[bool],
        "-n": NotRequired[bool],
        "head_limit": NotRequired[int],
        "multiline": NotRequired[bool],
    },
)
"""The input of Grep."""


class WebFetchInput(TypedDict):
    """The input of WebFetch."""

    url: str
    prompt: str


class AgentInput(TypedDict):
    """The input of Agent (`Task` on older clients)."""

    description: str
    prompt: str
    subagent_type: NotRequired[str]
    model: NotRequired[str]
    run_in_background: NotRequired[bool]
    name: NotRequired[str]
    isolation: NotRequired[str]
