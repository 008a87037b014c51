"""A script that answers the calls that earlier runs finished, run by a JavaScript engine with the client's globals."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.claude.workflow_runs import answers, chain, journals, scripts

DATA = Path(__file__).parent / "data"
SIX = (DATA / "six.js").read_text("utf-8")
NODE = shutil.which("node")
engine = pytest.mark.skipif(NODE is None, reason="needs node, as an engine for scripts")

_RUN = """
const asked = [];
globalThis.agent = async (prompt) => { asked.push(prompt); return 'ANEW ' + prompt; };
globalThis.parallel = (slots) => Promise.all(slots.map((each) => each()));
const script = JSON.parse(require('fs').readFileSync(0, 'utf8')).replace('export const meta', 'const meta');
const body = Object.getPrototypeOf(async function () {}).constructor(script.replaceAll('agent(', 'globalThis.agent('));
body().then((result) => console.log(JSON.stringify({result, asked})));
"""


def run(script: str) -> dict[str, Any]:
    """Run a script, and return its result and the prompts of the agents that it started."""
    assert NODE
    ended = subprocess.run([NODE, "-e", _RUN], input=json.dumps(script), capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(ended.stdout)
    return said


def finished(folder: Path, *calls: tuple[str, str, object]) -> Path:
    """Write a run of calls, each a key, a prompt and a result, and return its folder."""
    folder.mkdir(parents=True)
    lines = []
    for number, (key, prompt, result) in enumerate(calls):
        about = {"key": key, "agentId": f"a{number}"}
        lines += [{"type": "started", **about}, {"type": "result", **about, "result": result}]
        first = {"type": "user", "message": {"role": "user", "content": prompt}}
        (folder / f"agent-a{number}.jsonl").write_text(json.dumps(first) + "\n", "utf-8")
    (folder / journals.NAME).write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    return folder


@pytest.fixture
def six(tmp_path: Path) -> Path:
    """The recorded run of six, with each agent's prompt."""
    lines = [json.loads(each) for each in (DATA / "journal.jsonl").read_text("utf-8").splitlines()]
    keys = {each["label"]: each["key"] for each in lines if each["type"] == "started"}
    return finished(tmp_path / "six", *((keys[f"a{n}"], f"AGENT-{n} do item {n}", f"RESULT-{n}") for n in range(1, 7)))


def sequence(*prompts: str) -> str:
    """Return a script that asks agents one after the other."""
    each = "r.push(await agent(p))"
    return f"export const meta = {{name: 's'}}\nconst r = []\nfor (const p of {json.dumps(prompts)}) {each}\nreturn r\n"


def in_turn(*calls: tuple[str, object]) -> list[tuple[str, str, object]]:
    """Return calls that were made one after the other, with their keys."""
    made, state = list[tuple[str, str, object]](), ""
    for prompt, result in calls:
        state = chain.key(state, prompt)
        made.append((state, prompt, result))
    return made


@engine
@pytest.mark.parametrize(
    ("change", "result", "asked"),
    [
        (("", ""), [1, 2, 3, 4, 5, 6], []),
        (("[1,2,3,4,5,6]", "[6,5,4,3,2,1]"), [6, 5, 4, 3, 2, 1], []),
        (("[1,2,3,4,5,6]", "[7,1,2,3,4,5,6]"), [7, 1, 2, 3, 4, 5, 6], [7]),
        (("' do item '+i,", "' do item '+(i===3?9:i),"), [1, 2, None, 4, 5, 6], [None]),
    ],
)
def test_known_calls_are_answered_wherever_they_stand(
    six: Path, change: tuple[str, str], result: list[int | None], asked: list[int | None]
) -> None:
    """As they were, reversed, with one in front, and with one that was edited: only the unknown one runs."""
    made = answers.answered(SIX.replace(*change), [six])
    assert made is not None
    assert made[1:] == (6, 0)

    def anew(number: int | None) -> str:
        return "AGENT-3 do item 9" if number is None else f"AGENT-{number} do item {number}"

    said = run(made[0])
    assert said["asked"] == [anew(each) for each in asked]
    assert said["result"] == [f"ANEW {anew(each)}" if each in asked else f"RESULT-{each}" for each in result]


@engine
def test_identical_voters_get_each_its_own_result_once(tmp_path: Path) -> None:
    """The third of two starts an agent."""
    folder = finished(tmp_path / "run", *in_turn(("vote", "yes"), ("vote", "no")))
    made = answers.answered(sequence("vote", "vote", "vote"), [folder])
    assert made is not None
    assert run(made[0]) == {"result": ["yes", "no", "ANEW vote"], "asked": ["vote"]}


@engine
def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    """Objects, signs that end a string or a line in JavaScript, and false; prompts in any language."""
    kinds = [{"a": [1, None]}, "`${x}` \u2028 '\"\\ </script>\n", False, "日本 🎉"]
    prompts = ["plain", "é ü", "🎉 \u2028", "x" * 200]
    folder = finished(tmp_path / "run", *in_turn(*zip(prompts, kinds, strict=True)))
    made = answers.answered(sequence(*prompts), [folder])
    assert made is not None
    assert run(made[0]) == {"result": kinds, "asked": []}


@engine
def test_other_options_are_another_call(tmp_path: Path) -> None:
    """The same prompt for another model starts an agent."""
    folder = finished(tmp_path / "run", *in_turn(("vote", "yes")))
    for options, result in ((", {model: 'opus'}", "ANEW vote"), (", {label: 'x'}", "yes")):
        made = answers.answered(f"export const meta = {{name: 's'}}\nreturn await agent('vote'{options})\n", [folder])
        assert made is not None
        assert run(made[0])["result"] == result


def test_failed_and_empty_results_are_never_in_the_table(tmp_path: Path) -> None:
    """With nothing known, the script stays as it is."""
    folder = finished(tmp_path / "run", *in_turn(("one", None), ("two", ""), ("three", {})))
    assert answers.answered(sequence("one", "two", "three"), [folder]) is None
    assert answers.answered(sequence("one"), [tmp_path / "none"]) is None


def test_a_script_stays_within_the_clients_limit(tmp_path: Path) -> None:
    """What doesn't fit is left out and counted."""
    calls = in_turn(*((f"prompt {number}", f"{number} " * 40_000) for number in range(10)))
    made = answers.answered(sequence("prompt 0"), [finished(tmp_path / "run", *calls)])
    assert made is not None
    text, known, left_out = made
    assert len(text) <= scripts.LIMIT_CHARS == 524_288
    assert (known + left_out, known > 0, left_out > 0) == (10, True, True)
    assert answers.answered(sequence("prompt 0") + "//" + "x" * scripts.LIMIT_CHARS, [tmp_path / "run"]) is None


def test_an_unknown_version_of_keys_is_not_used(six: Path) -> None:
    """One line is enough to leave a run alone."""
    with (six / journals.NAME).open("a") as file:
        file.write('{"type":"result","key":"v3:0","agentId":"a","result":"R"}\n')
    assert answers.answered(SIX, [six]) is None


@pytest.mark.parametrize(
    "meta",
    [
        "export const meta = {name: 'x', description: 'a } in it', phases: [{title: 'P'}]}",
        'export const meta = {name: "x" /* } */, // }\n  description: `}`};',
        "\n\nexport const meta={name:'x'}",
    ],
)
def test_the_line_stands_after_meta_and_comes_out_again(meta: str) -> None:
    """The script's own text is what runs are told apart by."""
    text = f"{meta}\nreturn await agent('x')\n"
    made = scripts.with_line(text, "1")
    assert made is not None
    assert scripts.MARK in made
    assert scripts.original(made) == text
    assert scripts.script_name(text) == "x"


@pytest.mark.parametrize(
    "text",
    [
        "return 1",
        "// note\nexport const meta = {name: 'x'}",
        "export const meta = {name: `${x}`}",
        "export const meta = {",
    ],
)
def test_a_script_without_a_certain_place_is_left_alone(text: str) -> None:
    """Nothing is guessed about code."""
    assert scripts.with_line(text, "1") is None


def test_a_script_is_found_by_its_text_its_path_or_its_name(tmp_path: Path) -> None:
    """A name can't lead out of the folder of workflows."""
    folder = tmp_path / ".claude" / "workflows"
    folder.mkdir(parents=True)
    (folder / "six.js").write_text(SIX, "utf-8")
    (tmp_path / ".claude" / "secret.js").write_text("secret", "utf-8")
    assert scripts.script("", {"script": SIX}, tmp_path) == SIX
    assert scripts.script("", {"scriptPath": ".claude/workflows/six.js"}, tmp_path) == SIX
    assert scripts.script("", {"name": "six"}, tmp_path) == SIX
    assert scripts.script("", {"name": "../secret"}, tmp_path) is None
    assert scripts.script("", {}, tmp_path) is None
