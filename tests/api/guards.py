"""Ask the catalogue's four guards about commands, in this process, with their default options."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from holdfast.clients.claude import claude
from holdfast.events import PreToolUse, parse
from holdfast.plugins import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
CWD = "/home/user/project"
GUARDS = ("git_guard", "no_destruction", "no_secrets", "protected_paths")
ANSWERS = ("deny", "ask", "")
GROUPS = (
    "dangerous, can be read",
    "dangerous, can't be read",
    "dangerous, in another language",
    "harmless",
    "ordinary",
)


def corpus() -> Iterator[tuple[str, str]]:
    """Yield each command with its group."""
    listed = tomllib.loads((DATA / "commands.toml").read_text("utf-8"))
    for kind in ("dangerous", "harmless"):
        for row in (row for group in listed[kind] for row in group["commands"]):
            name = GROUPS[1] if "unreadable" in row else GROUPS[2] if "beyond" in row else GROUPS[0]
            yield row["command"], name if kind == "dangerous" else kind
    for line in (DATA / "ordinary.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line, "ordinary"


@cache
def _guard(name: str) -> Callable[[Any], Any]:
    spec = spec_from_file_location(name, ROOT / "catalogue" / f"{name}.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    given = {"options": module.Options(), "context": SimpleNamespace(root=Path(CWD))}
    wanted = inspect.signature(module.on_pre_tool_use).parameters
    more = {each: value for each, value in given.items() if each in wanted}
    return lambda event: module.on_pre_tool_use(event, **more)


def _event(command: str, tool: str = "Bash") -> PreToolUse:
    common = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": CWD, "tool_name": tool}
    event = parse({**common, "tool_input": {"command": command}})
    assert isinstance(event, PreToolUse)
    return event


@cache
def _rule() -> Callable[[Any], Any]:
    guide = (ROOT / "docs/guides/rules-and-scripts.md").read_text("utf-8")
    found = re.search(r"no_env\.toml`:\n\n```toml\n(.*?)```", guide, re.DOTALL)
    assert found
    return rules.function(claude, found[1].encode())


def rule_answer(command: str, tool: str = "Bash") -> str:
    """Return what the guide's rule for `.env` files answers to a command."""
    outcome = _rule()(_event(command, tool))
    return str(outcome.kind) if outcome else ""


def answer(command: str) -> str:
    """Return what the guards together answer to a command of Bash: `deny`, `ask`, or nothing."""
    event = _event(command)
    kinds = {outcome.kind for name in GUARDS if (outcome := _guard(name)(event))}
    return next((each for each in ANSWERS if each in kinds), "")


def answers() -> dict[str, str]:
    """Return the answer to each command of the corpus, wherever the home of whoever runs the tests is."""
    with mock.patch.dict(os.environ, {"HOME": str(Path(CWD).parent)}):
        return {command: answer(command) for command, _ in corpus()}
