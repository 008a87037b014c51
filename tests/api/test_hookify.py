"""Rule files of the plugin hookify, as its own documentation has them, become rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast import paths
from tests.commandline import holdfast
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

    Make = Callable[..., HoldfastProject]

# The simple and the advanced form of the documentation, each event, each operator.
FILES = {
    "rm": "name: block-dangerous-rm\nenabled: true\nevent: bash\npattern: rm\\s+-rf\naction: block",
    "log": "name: warn-console-log\nenabled: true\nevent: file\npattern: console\\.log\\(",
    "env": (
        "name: warn-env\nenabled: true\nevent: file\nconditions:\n  - field: file_path\n    operator: regex_match\n"
        "    pattern: \\.env$\n  - field: new_text\n    operator: contains\n    pattern: API_KEY"
    ),
    "deploy": (
        'name: "deploy"\nenabled: true\nevent: prompt\naction: block\nconditions:\n  - field: user_prompt\n'
        '    operator: starts_with\n    pattern: "deploy"'
    ),
    "tests": (
        "name: require-tests\nenabled: true\nevent: stop\naction: block\nconditions:\n  - field: transcript\n"
        "    operator: not_contains\n    pattern: npm test\n  - field: transcript\n    operator: not_contains\n"
        "    pattern: pytest"
    ),
    "keys": (
        "name: keys\nenabled: true\nevent: file\nconditions:\n  - field: new_text\n    operator: contains\n"
        "    pattern: secret\n  - field: new_text\n    operator: regex_match\n    pattern: ^key"
    ),
    "ends": (
        "name: ends\nenabled: true\nevent: bash\nconditions:\n  - field: command\n    operator: ends_with\n"
        "    pattern: --force"
    ),
    "ask": "name: ask\nenabled: true\nevent: bash\npattern: curl\naction: ask",
    "off": "name: off\nenabled: false\nevent: bash\npattern: ls",
    "any": (
        "name: any\nenabled: true\nevent: all\nconditions:\n  - field: command\n    operator: equals\n    pattern: id"
    ),
}
EDIT = {"file_path": "/p/.env", "old_string": "a", "new_string": "API_KEY=1"}
FIRES: list[tuple[str, str, dict[str, Any], str]] = [
    ("rm", "PreToolUse-Bash", {"tool_input": {"command": "RM  -rf x"}}, "deny"),
    ("rm", "PreToolUse-Bash", {"tool_input": {"command": "rm x"}}, ""),
    ("log", "PreToolUse-Write", {"tool_input": {"file_path": "/a", "content": "console.log(1)"}}, "context"),
    ("log", "PreToolUse-Edit", {"tool_input": {**EDIT, "new_string": "console.log(1)"}}, "context"),
    ("env", "PreToolUse-Edit", {"tool_input": EDIT}, "context"),
    ("env", "PreToolUse-Edit", {"tool_input": {**EDIT, "new_string": "x"}}, ""),
    ("keys", "PreToolUse-Edit", {"tool_input": {**EDIT, "new_string": "key = 1\nx = 'secret'"}}, "context"),
    ("keys", "PreToolUse-Edit", {"tool_input": {**EDIT, "new_string": "key = 1\nx = 'y'"}}, ""),
    ("deploy", "UserPromptSubmit", {"prompt": "deploy it"}, "block"),
    ("deploy", "UserPromptSubmit", {"prompt": "don't deploy it"}, ""),
    ("deploy", "UserPromptSubmit", {"prompt": "Deploy it"}, ""),
    ("ends", "PreToolUse-Bash", {"tool_input": {"command": "git push --force"}}, "context"),
    ("ends", "PreToolUse-Bash", {"tool_input": {"command": "git push --force o"}}, ""),
    ("ask", "PreToolUse-Bash", {"tool_input": {"command": "curl x"}}, "ask"),
    ("tests", "Stop", {"transcript": "nothing ran"}, "block"),
    ("tests", "Stop", {"transcript": "then\npytest -q\nran"}, ""),
    ("off", "PreToolUse-Bash", {"tool_input": {"command": "ls"}}, ""),
    ("any", "PreToolUse-Bash", {"tool_input": {"command": "id"}}, "context"),
]


def test_imported_rules_do_what_hookifys_do(holdfast_project: Make) -> None:
    """The message reaches whom it is for; the originals stay; a second import changes nothing."""
    texts = {
        f".claude/hookify.{name}.local.md": f"---\n{head}\n---\n\nsaid by {name}\n" for name, head in FILES.items()
    }
    project = holdfast_project(texts)
    out = holdfast("handlers", "import", "--in-project", root=project.root).out
    assert out.count("Wrote ") == len(FILES)
    found = []
    for name, recorded, changes, expected in FIRES:
        if text := changes.pop("transcript", ""):
            project.write({"transcript.jsonl": text})
            changes["transcript_path"] = str(project.root / "transcript.jsonl")
        fired = project.fire(recorded.partition("-")[0], recorded, **changes)
        body = json.loads(fired.stdout or "{}")
        specific = body.get("hookSpecificOutput", {})
        did = specific.get("permissionDecision") or body.get("decision") or ("context" if fired.context else "")
        if did != expected or (f"said by {name}" in fired.stdout) != bool(expected) or fired.faults:
            found.append(f"{name} {changes}: {fired.stdout!r} {fired.faults}")
    report(found)
    again = holdfast("handlers", "import", "--in-project", root=project.root).out
    assert "Wrote" not in again
    assert again.count("has its name") == len(FILES)


def test_what_cannot_be_imported_is_left_out_and_named(holdfast_project: Make) -> None:
    """With the reason; the others are imported."""
    heads = {
        "a": "name: a\nevent: bash\nconditions:\n  - field: command\n    operator: like\n    pattern: x",
        "b": "name: b\nevent: session\npattern: x",
        "c": "name: c\nevent: bash\nconditions:\n  - field: file_path\n    pattern: x",
    }
    texts = {f".claude/hookify.{name}.local.md": f"---\n{head}\n---\n\nno\n" for name, head in heads.items()}
    project = holdfast_project({**texts, ".claude/hookify.d.local.md": "no front matter"})
    out = holdfast("handlers", "import", root=project.root).out
    for name, why in {"a": "operator: 'like'", "b": "event: 'session'", "c": "file_path", "d": "front matter"}.items():
        assert any(f"hookify.{name}.local.md" in line and why in line for line in out.splitlines()), out


def test_nothing_that_lies_there_is_overwritten(holdfast_project: Make) -> None:
    """Not even a file beyond the 200 that count."""
    text = f"---\n{FILES['rm']}\n---\n\nno\n"
    project = holdfast_project({".claude/hookify.rm.local.md": text})
    target = paths.user_handlers() / "block_dangerous_rm.toml"
    project.write({f"{target.parent}/a{number}.toml": "" for number in range(200)} | {str(target): "mine"})
    assert "block_dangerous_rm.toml has its name" in holdfast("handlers", "import", root=project.root).out
    assert target.read_text() == "mine"
    (project.root / ".claude/hookify.rm.local.md").unlink()
    assert "there are no files hookify.*.local.md in" in holdfast("handlers", "import", root=project.root, code=1).err
