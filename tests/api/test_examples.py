"""Handlers with examples, and what is known of a handler from its text: any path, in CI and before trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from tests.api.author import handler
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PUSH = 'if "push" in event.tool_input.get("command", event.tool_input.get("file_path", "")): return deny("no push")'


def examples(table: str, match: str = '"shell"') -> str:
    """Return a guard with examples."""
    return handler(PUSH, options=f"match={match}, examples={table}")


# A Python file that declares its event in a comment is a program: it isn't imported.
PROGRAM = """#!/usr/bin/env python3
# holdfast: event=PreToolUse match=Bash
# holdfast-example: awk '/a => b/' => deny
# holdfast-example: ls =>
import sys
if "a => b" in sys.stdin.read():
    sys.exit(print("no", file=sys.stderr) or 2)
"""


@each_row(
    "text, failures",
    [
        (examples('{"git push": "deny", "ls": None, "git status": ""}'), []),
        (
            examples('{"git push": None, "ls": "deny"}'),
            ['"git push": expected nothing, got deny: no', '"ls": expected deny, got nothing'],
        ),
        (examples('{"ls": "dney"}'), ['"ls": expected dney, got no such outcome on PreToolUse; did you mean deny']),
        (examples('{"push": {"tool_name": "Read", "answer": "deny"}}', '"shell|Read"'), []),
        (
            examples('{"push": {"tool_name": "Read", "answer": ""}}'),
            ["got no call, because match='shell' doesn't select it"],
        ),
        (examples('{"push": "deny"}', '"Read|Bash"'), []),
        (examples('{"push": "deny"}', '"^(Edit|Read)$"'), []),
        (
            examples('{"": {"command": "push", "answer": "deny"}}', '"mcp__.*"'),
            ["names no value to try; add the field 'tool_name'"],
        ),
        (examples('{"": {"tool_name": "mcp__a__b", "command": "push", "answer": "deny"}}', '"mcp__.*"'), []),
        (examples('{"ls": {"comand": "push", "answer": "deny"}}'), ["no field 'comand'; did you mean command"]),
        (examples('{"push": {"permission_mode": "plan", "answer": "deny"}}', "None"), []),
        (
            handler("raise ValueError('oh')", options='examples={"x": None}'),
            ["expected nothing, got user/case.py: on_pre_tool_use: raised"],
        ),
        (handler("os._exit(1)", options='examples={"x": None}'), ["ended its process"]),
        (
            handler("return [advise('a'), allow()]", options='examples={"x": "allow", "y": "advise", "z": "ask"}'),
            ['"z": expected ask'],
        ),
        (handler("return force_turn(event.last_assistant_message)", "stop", 'examples={"more": "force_turn"}'), []),
        (
            handler(
                "return advise(event.source)", "session_start", 'match="compact|clear", examples={"clear": "advise"}'
            ),
            [],
        ),
        (handler("return block(event.prompt)", "user_prompt_submit", 'examples={"x": "block"}'), []),
        (handler("note('x', event.message)", "notification", 'match="idle_prompt", examples={"hey": None}'), []),
        (handler("return instruct_summary('x')", "pre_compact", 'examples={"": "instruct_summary"}'), []),
        (
            handler(
                "return allow() if 'HOME' in context.environ and not os.listdir() else ask('x')",
                options='examples={"x": "allow"}',
            ),
            [],
        ),
        (handler("return advise('x')", "subagent_start", 'match="Exp.*", examples={"Explore": "advise"}'), []),
        (
            handler("return None", "post_tool_batch", 'examples={"x": None}'),
            ["PostToolBatch doesn't take 1 words; put a text with spaces into quotes"],
        ),
        (PROGRAM, []),
        ("def on_stop(:", ["cannot be read as Python"]),
        (handler("return None", options="examples=['x']"), ["examples=['x'] has the wrong type"]),
        (handler("return None", options="examples={'x': 1}"), ["examples is a table from texts to outcomes"]),
        (handler("return None", options="examples={'x': {'y': {1}}}"), ["examples is a table from texts to outcomes"]),
        (handler("return None", options="examples={name: None}"), ["examples must be a literal"]),
    ],
)
def test_examples_come_out_as_they_say(tmp_path: Path, text: str, failures: list[str]) -> None:
    """One line for each that doesn't, with what was expected and what came; and the exit code."""
    (tmp_path / "case.py").write_text(text)

    out = holdfast("handlers", "test", str(tmp_path), code=1 if failures else 0).out

    assert not [each for each in failures if each not in out], out
    assert len(out.splitlines()) == len(failures) + 1, out
    assert "passed, of 1 handler." in out


def test_files_and_folders_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's handlers, or those of its `.claude/handlers`; a file without examples is named once."""
    folder, project = tmp_path / "lib", tmp_path / "project/.claude/handlers"
    for place in (folder, project):
        place.mkdir(parents=True)
        (place / "good.py").write_text(examples('{"git push": "deny"}'))
        (place / "_help.py").write_text("raise ValueError\n")
    (folder / "none.py").write_text(handler("return None"))
    monkeypatch.chdir(folder)

    assert holdfast("handlers", "test", ".").out == "none.py: has no examples\n1 example passed, of 2 handlers.\n"
    assert "1 example passed, of 1 handler." in holdfast("handlers", "test", str(tmp_path / "project")).out
    assert "2 examples passed" in holdfast("handlers", "test", "good.py", str(project / "good.py")).out
    assert "holds no handler" in holdfast("handlers", "test", str(tmp_path), code=1).err
    assert "there is no handler 'gone.py'" in holdfast("handlers", "test", "gone.py", code=1).err


def test_a_file_that_can_not_be_read_fails_for_programs_too(tmp_path: Path) -> None:
    """With `--json`."""
    (tmp_path / "broken.py").write_text("def on_stop(:")
    said = holdfast("handlers", "test", str(tmp_path / "broken.py"), "--json", code=1).json
    assert ["cannot be read as Python" in each["fault"] for each in said["faults"]] == [True]


def test_without_paths_those_in_use_are_tested(tmp_path: Path) -> None:
    """Yours, and the project's as far as you trust it; nothing is remembered of it."""
    paths.user_handlers().mkdir(parents=True)
    (paths.user_handlers() / "mine.py").write_text(examples('{"git push": "deny"}'))
    theirs = paths.project_handlers(tmp_path)
    theirs.mkdir(parents=True)
    (theirs / "team.py").write_text(examples('{"ls": "deny"}'))

    out = holdfast("handlers", "test", root=tmp_path).out
    assert "team.py: not tested: not trusted" in out
    assert "1 example passed" in out
    assert [each["passed"] for each in holdfast("handlers", "test", "--json", root=tmp_path).json["examples"]] == [True]
    shown = holdfast("handlers", "trust", "--yes", root=tmp_path).out
    assert "    example: ls → deny\n" in shown
    assert "0 of 2" not in holdfast("handlers", "test", root=tmp_path, code=1).out
    assert holdfast("handlers", "check", "--json", root=tmp_path).json == []


def test_your_configuration_does_not_change_how_examples_come_out(tmp_path: Path) -> None:
    """They run in an empty home, wherever the configuration lies."""
    head = "from pydantic import BaseModel\nclass Options(BaseModel): word: str = 'push'\n"
    guard = handler(
        'return deny("no") if options.word in event.tool_input["command"] else None',
        options='match="Bash", examples={"git push": "deny"}',
        arguments="event, options",
        head="from holdfast import *\n" + head,
    )
    (tmp_path / "guard.py").write_text(guard)
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text("[options.guard]\nword = 'pull'\n")

    assert "1 example passed" in holdfast("handlers", "test", str(tmp_path / "guard.py")).out


def written(body: str, event: str = "pre_tool_use", head: str = "from holdfast import *\n", kind: str = "") -> str:
    """Return a handler file with one function that is never called."""
    indented = body.replace("\n", "\n    ")
    return f"{head}\n@hookimpl\ndef on_{event}(event{kind}):\n    {indented}\n"


IMPORTED = (
    "from holdfast import deny as no, hookimpl\nimport holdfast, holdfast as h\nfrom holdfast import events as e\n"
)


@each_row(
    "text, fault",
    [
        (written("yield deny('x')"), "is a generator, because it has a yield"),
        (written("yield from ()"), "is a generator"),
        (written("return 'no'"), "returns str; a handler returns None"),
        (written("return f'{event}'"), "returns str"),
        (written("return {'decision': 'block'}"), "returns dict"),
        (written("return True"), "returns bool"),
        (written("return 'x' in event.cwd and deny('x')"), "returns bool"),
        (written("return not event.cwd"), "returns bool"),
        (written("return deny('x') if event.cwd else 'fine'"), "returns str"),
        (written("return [deny('x'), 'y']"), "returns str"),
        (written("return (deny(x) for x in 'ab')"), "returns generator"),
        (written("return force_turn('x')"), "force_turn() is not accepted on PreToolUse"),
        (written("return deny('x')", "post_tool_use"), "deny() is not accepted on PostToolUse"),
        (written("said = [deny('x')]\nreturn said", "stop"), "deny() is not accepted on Stop"),
        (written("return no('x')", "stop", IMPORTED), "deny() is not accepted on Stop"),
        (written("return h.deny('x')", "stop", IMPORTED), "deny() is not accepted on Stop"),
        (written("return holdfast.deny('x')", "stop", IMPORTED), "deny() is not accepted on Stop"),
        (written("return allow()", "pre_skill_shell_command"), "allow(), which is dropped on PreSkillShellCommand"),
        (written("return None", "stop", kind=": 'PreToolUse'"), "annotates event as PreToolUse, but gets Stop"),
        (written("return None", "stop", kind=": 'e.PreToolUse'"), "annotates event as PreToolUse"),
        (written("return None", "stop", IMPORTED, kind=": e.PreCompact | None"), "annotates event as PreCompact"),
        (written("return None"), ""),
        (written("return"), ""),
        (written("return deny('x') or None"), ""),
        (written("return block('x')"), ""),
        (written("return [each for each in [deny('x')]]"), ""),
        (written("return (deny('x'), None)"), ""),
        (written("def part():\n    yield 'x'\n    return 'x'\nreturn deny(''.join(part()))"), ""),
        (written("return deny('x')", "stop", "from holdfast import *\ndef deny(x): return None\n"), ""),
        (written("return deny('x')", "stop", "from holdfast import *\ndeny = tell_user\n"), ""),
        (written("return deny('x')", "stop", "from mine import deny\nfrom holdfast import hookimpl\n"), ""),
        (written("return None", kind=": 'PreToolUse | PostToolUse'"), ""),
        (written("return None", kind=": 'ToolEvent'"), ""),
    ],
)
def test_what_is_known_from_the_text_is_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    """With its line, whatever else happens when the function runs; nothing that may be right is named."""
    file = tmp_path / "case.py"
    file.write_text(text.replace("from mine", "try: import mine\nexcept ImportError: pass\nif 0: from mine"))

    out = holdfast("handlers", "check", str(file), "--json", code=1 if fault else 0).json

    assert [each["fault"] for each in out if fault not in each["fault"]] == [], out
    assert len(out) == bool(fault), out
    assert all(each["fault"].startswith("line ") for each in out)


def test_a_file_anywhere_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By loading it, and by what its text says; the state of this machine doesn't matter."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/broken.py").write_text("import no_such_module\n" + handler("return None"))
    (tmp_path / "lib/doubtful.py").write_text(handler("return None", options='match="Bash"'))
    monkeypatch.chdir(tmp_path)

    out = holdfast("handlers", "check", "lib", code=1).out

    assert "broken.py: user/broken.py: on_pre_tool_use: does not load: raised ModuleNotFoundError" in out
    assert "doubtful.py: note: line 6: on_pre_tool_use: match='Bash' leaves out PowerShell" in out
    assert "No faults in 1 of 2 handlers." in out
    assert "registered" not in out
    assert "there is no handler 'none.py'" in holdfast("handlers", "check", "none.py", code=1).err
