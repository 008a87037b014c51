"""A script of agents that is launched again: when it is refused, resumed, or let through."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import log, paths
from holdfast.clients.claude import claude
from holdfast.clients.claude.workflow_runs import NAME, WorkflowRuns
from holdfast.testing import HoldfastProject
from tests.client_output import assert_acceptable
from tests.commandline import holdfast
from tests.signals import begin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from holdfast.testing import Fired

GONE = "999999999"  # no process has this number
LIVES = str(os.getppid())
FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
PROMPTS = tuple(f"Review part {number}" for number in range(1, 7))
RUN, NEXT = "wf_d604c20b-bc1", "wf_0a1b2c3d-4e5"


def script(*prompts: str, name: str = "review") -> str:
    """Return a script that asks agents one after the other."""
    each = "r.push(await agent(p))"
    head = f"export const meta = {{name: '{name}', description: 'x', phases: [{{title: 'P'}}]}}\n"
    return f"{head}const r = []\nfor (const p of {json.dumps(prompts)}) {each}\nreturn r\n"


SCRIPT, CHANGED = script(*PROMPTS), script("Look around", *reversed(PROMPTS))


class Launches:
    """Launches scripts in a project as the model does, and writes the journals that the client would write.

    Attributes:
        process: the client process that sends the events.
    """

    def __init__(self, project: HoldfastProject, home: Path) -> None:
        self.project, self.home, self.process, self.calls = project, home, GONE, 0

    @property
    def transcript(self) -> Path:
        """The session's transcript."""
        return self.home / "projects" / "-project" / f"{self.project.session}.jsonl"

    def fire(self, event: str, recorded: str | None = None, **changes: Any) -> Fired:
        """Fire an event that must be acceptable."""
        fired = self.project.fire(event, recorded, transcript_path=str(self.transcript), **changes)
        assert_acceptable(event, fired.stdout)
        return fired

    def begin(self, session: str = "", process: str = "", source: str = "startup", prompt: str = "first") -> Fired:
        """Start a session, which a person asks for something."""
        self.project.session, self.process = session or self.project.session, process or self.process
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.transcript.with_suffix("").mkdir(exist_ok=True)
        self.transcript.touch()
        fired = begin(self.project, source, transcript_path=str(self.transcript))
        if prompt:
            self.fire("UserPromptSubmit", prompt="Review it.", prompt_id=prompt)
        return fired

    def compact(self) -> Fired:
        """Let the conversation begin anew."""
        self.fire("PreCompact", "PreCompact-auto")
        return self.begin(source="compact", prompt="")

    def launch(self, text: str = SCRIPT, **given: Any) -> Fired:
        """Send PreToolUse: the model is about to launch a script, or what is given in its place."""
        self.calls += 1
        asked = given or {"script": text}
        return self.fire("PreToolUse", tool_name="Workflow", tool_input=asked, tool_use_id=f"toolu_{self.calls}")

    def launched(
        self, run: str = RUN, text: str = SCRIPT, done: Sequence[str] | None = PROMPTS[:5], **changes: Any
    ) -> Path:
        """Send PostToolUse: the script runs, and so many of its agents have finished; None without a journal."""
        folder = self.transcript.with_suffix("") / "subagents" / "workflows" / run
        folder.mkdir(parents=True)
        if done is not None:
            finished(folder, text, done)
        response = {"status": "async_launched", "taskId": f"task-{run}", "taskType": "local_workflow", "runId": run}
        response |= {"workflowName": WorkflowRuns().script_name(text), "transcriptDir": str(folder), "summary": "x"}
        response |= changes
        response["scriptPath"] = str(self.transcript.with_suffix("") / f"{run}.js")
        (self.transcript.with_suffix("") / f"{run}.js").write_text(text, "utf-8")
        asked, call = {"script": text}, f"toolu_{self.calls}"
        self.fire("PostToolUse", tool_name="Workflow", tool_input=asked, tool_use_id=call, tool_response=response)
        return folder

    def ran(self, run: str = RUN, text: str = SCRIPT, done: Sequence[str] | None = PROMPTS[:5]) -> Path:
        """Launch a script; so many of its agents finish."""
        self.launch(text)
        return self.launched(run, text, done)

    def ended(self, run: str = RUN, status: str = "completed") -> None:
        """Let the client tell how a run ended."""
        record = self.transcript.with_suffix("") / "workflows" / f"{run}.json"
        record.parent.mkdir(exist_ok=True)
        record.write_text(json.dumps({"runId": run, "status": status}), "utf-8")


def finished(folder: Path, text: str, done: Sequence[str]) -> None:
    """Write the journal of a script's run that was cut off: all agents up to the first that isn't done have started."""
    prompts, state, lines = json.loads(text.split("const p of ")[1].split("])")[0] + "]"), "", [{"type": "launched"}]
    for number, prompt in enumerate(prompts):
        state = f"v2:{hashlib.sha256(f'{state} {prompt}'.encode()).hexdigest()}"
        about = {"key": state, "agentId": f"{folder.name[-3:]}{number}", "label": prompt}
        lines.append({"type": "started", **about})
        if prompt not in done:
            break
        lines.append({"type": "result", **about, "result": f"Result of {prompt}"})
    (folder / NAME).write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")


@pytest.fixture
def launches(
    holdfast_project: Callable[..., HoldfastProject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Launches:
    """A project in whose first session, of a client that is gone since, a person has asked for something."""
    made = Launches(holdfast_project({}), tmp_path / "client")
    monkeypatch.setattr(claude, "process", lambda environ: made.process)
    made.begin(FIRST)
    return made


def new_session(launches: Launches, **how: Any) -> Fired:
    """Start another session in another process of the client, which runs."""
    return launches.begin(SECOND, str(os.getpid()), **how)


def passed(fired: Fired) -> bool:
    """Return whether a call was let through as it was."""
    return fired.exit_code == 0 and not {"permissionDecision", "updatedInput"} & set(fired.specific)


def changed(fired: Fired) -> dict[str, Any]:
    """Return the input that a call got; no permission may come with it."""
    assert fired.faults == []
    assert "permissionDecision" not in fired.stdout
    given: dict[str, Any] = fired.specific["updatedInput"]
    return given


def test_a_first_launch_passes_untouched(launches: Launches) -> None:
    """There is nothing to use."""
    launches.launch().assert_silent("reuse_agents")


def test_a_living_twin_is_refused_with_its_run_and_how_far_it_is(launches: Launches) -> None:
    """In the client process that runs it, after the model has forgotten it. Any other script may run beside it."""
    launches.process = LIVES
    launches.ran()
    launches.compact()
    launches.launch().assert_denied("running already", RUN, f"task-{RUN}", "5 of 6 agents finished", "TaskStop")
    assert passed(launches.launch(script("Something else", name="other")))
    assert passed(launches.launch(SCRIPT.replace("Review part 6", "Review the rest")))
    assert passed(launches.launch(scriptPath="none.js", resumeFromRunId=RUN))


def test_an_interrupted_run_is_carried_and_resumed(launches: Launches) -> None:
    """In a new session the client itself serves the finished results, from a journal in that session."""
    source = launches.ran()
    before = (source / NAME).read_bytes()
    told = new_session(launches)
    assert RUN in told.context
    fired = launches.launch()
    assert changed(fired) == {"script": SCRIPT, "resumeFromRunId": RUN}
    assert f"5 of 6 agents finished in run {RUN}" in fired.context
    assert "changed" not in fired.context
    assert f"holdfast agents {RUN} --rerun" in fired.context
    assert "Holdfast: 5 of 6 agents finished" in fired.reply["systemMessage"]
    carried = launches.transcript.with_suffix("") / "subagents" / "workflows" / RUN / NAME
    assert carried.read_text("utf-8").count('"result"') == 10  # type and value
    assert (source / NAME).read_bytes() == before


@pytest.mark.parametrize(
    "given",
    [
        {"script": CHANGED},
        {"script": SCRIPT, "args": {"part": 1}},
        {"scriptPath": "changed.js"},
        {"name": "review"},
        {"scriptPath": "changed.js", "script": SCRIPT, "resumeFromRunId": RUN},
    ],
)
def test_a_changed_script_is_resumed_too(launches: Launches, given: dict[str, Any]) -> None:
    """Only the run's id is added. The model learns what runs again, and no number that the client may not keep."""
    launches.project.write({"changed.js": CHANGED, ".claude/workflows/review.js": CHANGED})
    launches.ran()
    new_session(launches)
    fired = launches.launch(**given)
    if "resumeFromRunId" in given:
        assert passed(fired)
    else:
        assert changed(fired) == {**given, "resumeFromRunId": RUN}
    for text in (fired.context, fired.reply["systemMessage"]):
        assert "calls after the first changed one run again; put changed or new agents last" in text
        assert "known" not in text


def test_a_run_that_can_not_be_carried_runs_anew(launches: Launches) -> None:
    """A file is in the way of the journal; nobody is told of results that the client doesn't have."""
    launches.ran()
    there = launches.transcript.with_name(SECOND)
    there.mkdir()
    (there / "subagents").touch()
    new_session(launches)
    assert passed(launches.launch())


def test_a_named_run_stands_for_the_newest_that_was_carried_from_it(launches: Launches) -> None:
    """Each journal had to be repaired, so it went on under another id. What that finished is used, in each session."""
    folder, other = launches.ran(done=PROMPTS[:3]), RUN
    for process, done in (("999999998", 4), ("999999997", 5)):
        last = json.loads((folder / NAME).read_text("utf-8").splitlines()[-1])
        with (folder / NAME).open("a") as file:
            file.write(json.dumps({"type": "failed", "key": last["key"], "agentId": last["agentId"]}) + "\n")
        launches.begin(process=process, source="resume")
        before = {RUN, other}
        other = changed(launches.launch(script=SCRIPT, resumeFromRunId=RUN))["resumeFromRunId"]
        assert other not in before
        shutil.rmtree(journal(launches, other).parent)
        folder = launches.launched(other, done=PROMPTS[:done])

    launches.begin(SECOND, "999999996")
    launches.fire("UserPromptSubmit", prompt=f"Go on with {RUN}.", prompt_id="second")
    found = WorkflowRuns().journal(journal(launches).parent)
    assert found
    assert found.done == 5
    fired = launches.launch(script=SCRIPT, resumeFromRunId=RUN)
    assert passed(fired)
    assert f"5 of 6 agents finished in run {other}" in fired.reply["systemMessage"]

    launches.begin(FIRST, "999999995", source="resume")
    assert changed(launches.launch(script=SCRIPT, resumeFromRunId=RUN)) == {"script": SCRIPT, "resumeFromRunId": other}


def test_a_run_whose_script_the_client_hides_is_left_alone(launches: Launches) -> None:
    """The client refuses to resume it in another process. The user learns of it once; a call that names it passes."""
    folder = launches.ran()
    file = folder / NAME
    file.write_text(file.read_text("utf-8").replace('"launched"', '"launched", "hiddenScriptSha256": "ab"'), "utf-8")
    told = new_session(launches)
    assert "was interrupted" not in told.stdout
    assert "resumeFromRunId" not in told.stdout
    assert not (launches.transcript.with_suffix("") / "subagents").exists()
    launches.launch(script=SCRIPT, resumeFromRunId=RUN).assert_silent("reuse_agents")
    fired = launches.launch()
    assert passed(fired)
    assert f"can't resume run {RUN}: Claude Code hides its script" in fired.reply["systemMessage"]


def test_one_that_the_client_lists_no_more_is_not_waited_for(launches: Launches) -> None:
    """It was stopped, in the client that goes on."""
    launches.ran()
    launches.fire("Stop", background_tasks=[])
    launches.compact()
    assert changed(launches.launch())["resumeFromRunId"] == RUN
    fired = launches.launch(script=SCRIPT, resumeFromRunId=RUN)
    assert passed(fired) and not fired.reply, "the client does all of it"


def test_a_launch_that_failed_is_no_run(launches: Launches) -> None:
    """Its answer has an error, or names no run."""
    for response in ({"runId": RUN, "error": "no such script"}, {"error": "no such script"}, None):
        launches.launch()
        launches.fire("PostToolUse", tool_name="Workflow", tool_input={"script": SCRIPT}, tool_response=response)
    assert holdfast("agents", root=launches.project.root).out == "No agents are known here.\n"


def test_one_of_which_the_client_says_that_it_runs_is_waited_for(launches: Launches) -> None:
    """Not every notification is of an end."""
    launches.process = LIVES
    launches.ran()
    notice = f"<task-notification>\n<task-id>task-{RUN}</task-id>\n<status>running</status>\n</task-notification>"
    launches.fire("UserPromptSubmit", prompt=notice)
    launches.compact()
    launches.launch().assert_denied("running already", RUN)


def test_one_whose_task_is_unknown_is_waited_for(launches: Launches) -> None:
    """Nothing tells whether the client lists it."""
    launches.process = LIVES
    launches.launch()
    launches.launched(taskId=None)
    launches.fire("Stop", background_tasks=[])
    launches.compact()
    launches.launch().assert_denied("running already", RUN)


@pytest.mark.parametrize(("status", "end"), [("completed", "script completed"), ("killed", "script didn't finish")])
def test_log_says_when_a_script_was_launched_and_how_it_ended(launches: Launches, status: str, end: str) -> None:
    """Its result isn't repeated: `holdfast agents RUN` has what its agents returned."""
    launches.ran()
    notice = f"<task-notification>\n<task-id>task-{RUN}</task-id>\n<status>{status}</status>\n</task-notification>"
    launches.fire("UserPromptSubmit", prompt=notice)
    events = holdfast("log", "--json", root=launches.project.root).json
    found = [each for each in reversed(events) if each["what"].startswith("script")]
    assert [(each["what"], each["detail"], each["data"]["agent_id"]) for each in found] == [
        ("script launched", "review", RUN),
        (end, "review", RUN),
    ]


def test_a_notification_may_name_only_the_call_of_a_script(launches: Launches) -> None:
    """And need not say how the script ended."""
    launches.launch()
    launches.launched(taskId=None)
    call = f"<tool-use-id>toolu_{launches.calls}</tool-use-id>"
    fired = launches.fire("UserPromptSubmit", prompt=f"<task-notification>\n{call}\n</task-notification>")
    assert not fired.faults
    events = holdfast("log", "--json", root=launches.project.root).json
    assert [each["what"] for each in reversed(events) if each["kind"] == "agent"] == [
        "script launched",
        "script stopped",
    ]


def test_a_completed_run_is_used_under_the_same_prompt(launches: Launches) -> None:
    """The model forgot its own launch at the compaction."""
    launches.ran(done=PROMPTS)
    launches.ended()
    launches.compact()
    assert changed(launches.launch())["resumeFromRunId"] == RUN


def test_a_failed_run_is_named_and_left_to_the_person(launches: Launches) -> None:
    """Whether its other results still hold, nobody here can say. The same prompt says it."""
    folder = launches.ran(done=PROMPTS[:4])
    with (folder / NAME).open("a") as file:
        line = json.loads((folder / NAME).read_text("utf-8").splitlines()[-1])
        file.write(json.dumps({"type": "failed", "key": line["key"], "agentId": line["agentId"]}) + "\n")
    launches.ended()
    launches.fire("UserPromptSubmit", prompt="Review it again.", prompt_id="second")
    fired = launches.launch()
    assert passed(fired)
    place = str(launches.transcript.with_suffix("") / f"{RUN}.js")
    assert f"call Workflow({{scriptPath: {place!r}, resumeFromRunId: '{RUN}'}})" in fired.context
    new = launches.launch(script=SCRIPT, resumeFromRunId=RUN)
    assert changed(new)["resumeFromRunId"] != RUN  # a repaired copy: the client would serve nothing after `failed`
    launches.fire("UserPromptSubmit", prompt="Review it.", prompt_id="first")
    assert "updatedInput" in launches.launch().specific


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits", "bypassPermissions"])
def test_a_changed_call_gets_no_permission(launches: Launches, mode: str) -> None:
    """The client asks for it as for any other."""
    launches.ran()
    new_session(launches)
    for text in (SCRIPT, CHANGED):
        fired = launches.fire(
            "PreToolUse",
            tool_name="Workflow",
            tool_input={"script": text},
            tool_use_id=f"toolu_{mode}{len(text)}",
            permission_mode=mode,
        )
        assert changed(fired)
        assert set(fired.specific) <= {"hookEventName", "updatedInput", "additionalContext"}


def test_an_unknown_version_of_keys_is_said_once(launches: Launches) -> None:
    """And the journal is left alone."""
    folder = launches.ran()
    file = folder / NAME
    file.write_text(file.read_text("utf-8").replace("v2:", "v3:"), "utf-8")
    before = file.read_bytes()
    new_session(launches)
    first, second = launches.launch(), launches.launch()
    assert passed(first)
    assert "its journal has an unknown format" in first.reply["systemMessage"]
    second.assert_silent("reuse_agents")
    assert file.read_bytes() == before
    assert not (launches.transcript.with_suffix("") / "subagents").exists()


@pytest.mark.parametrize(("mode", "said"), [("off", False), ("tell", True)])
def test_the_configuration_decides(launches: Launches, mode: str, said: bool) -> None:
    """`tell` says what there is; both let the call pass as it is, a living twin too."""
    launches.project.write({".claude/holdfast.toml": f'agents = "{mode}"\n'})
    launches.project.trust()
    launches.ran()
    new_session(launches)
    fired = launches.launch()
    assert passed(fired)
    assert (f"resumeFromRunId: '{RUN}'" in fired.context) is said
    launches.launched("wf_0a1b2c3d-4e6")
    twin = launches.launch()
    assert passed(twin)
    assert ("running already" in twin.context) is said


def test_what_shall_run_anew_does(launches: Launches) -> None:
    """`holdfast agents ID --rerun` wins over everything."""
    launches.ran()
    new_session(launches)
    holdfast("agents", "--rerun", "review", root=launches.project.root)
    assert passed(launches.launch())
    assert passed(launches.launch(CHANGED))


def test_of_a_forgotten_run_nothing_is_left_and_nothing_used(launches: Launches) -> None:
    """In no session that it went on in: no id of it or of its agents. The run that went on with it stays."""
    log.set_project(launches.project.root)
    launches.ran()
    launches.begin("44444444-4444-4444-8444-444444444444", "999999997")
    launches.launch()
    shutil.rmtree(journal(launches).parent)
    launches.launched()
    launches.begin(SECOND, "999999998")
    launches.launch(CHANGED)
    launches.launched(NEXT, CHANGED, ("Look around",))
    holdfast("agents", RUN, root=launches.project.root)  # the agents' results are in the ledger from now on
    before = everything()
    assert all(word in before for word in (RUN, "Result of Review part 1", "bc10", "bc14"))

    holdfast("forget", "--agent", RUN, "--yes", root=launches.project.root)
    after = everything()
    assert not [word for word in (RUN, "Result of Review", "bc10", "bc14") if word in after]
    assert NEXT in after
    launches.begin("33333333-3333-4333-8333-333333333333", str(os.getpid()))
    fired = launches.launch(CHANGED)
    assert changed(fired)["resumeFromRunId"] == NEXT
    assert "1 of 2 agents finished in run" in fired.context


def everything() -> str:
    """Return what stands in Holdfast's own files."""
    return "".join(each.read_text("utf-8", "replace") for each in paths.state_dir().rglob("*") if each.is_file())


@pytest.mark.parametrize("given", [{"script": SCRIPT}, {"script": SCRIPT, "resumeFromRunId": RUN}])
def test_another_living_client_keeps_its_run(launches: Launches, given: dict[str, str]) -> None:
    """Its journal is never touched, even if the run is named."""
    launches.process = LIVES
    launches.ran()
    new_session(launches)
    launches.launch(**given).assert_silent("reuse_agents")
    assert not (launches.transcript.with_suffix("") / "subagents").exists()


def test_another_checkouts_run_is_not_this_ones(launches: Launches, tmp_path: Path) -> None:
    """Its agents looked at other files."""
    here, other = launches.project, HoldfastProject(tmp_path / "other", SECOND)
    for each in (here, other):
        each.write({".claude/holdfast.toml": '[project]\nid = "shared"\n'})
        each.trust()
    launches.begin(FIRST)
    launches.ran()
    launches.project = other
    assert RUN not in new_session(launches).context
    launches.launch().assert_silent("reuse_agents")
    assert "review: 5 of 6 agents finished" in holdfast("agents", root=here.root).out


def test_what_a_runs_agents_returned_outlives_the_clients_files(launches: Launches) -> None:
    """What finished is there, what failed is said to have failed; of one that was at work no end is told."""
    folder = launches.ran(done=PROMPTS[:4])
    lines = [json.loads(each) for each in (folder / NAME).read_text("utf-8").splitlines()]
    failed = {"key": "v2:" + "f" * 64, "agentId": "a-failed", "label": "A broken one"}
    lines += [{"type": "started", **failed}, {"type": "failed", **failed}]
    (folder / NAME).write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    notification = (
        f"<task-notification>\n<task-id>task-{RUN}</task-id>\n<status>completed</status>\n</task-notification>"
    )
    launches.fire("UserPromptSubmit", prompt=notification, prompt_id="made by the client")
    shutil.rmtree(folder)
    returned = holdfast("agents", RUN, "--json", root=launches.project.root).json["results"]
    assert [(each["label"], each["state"]) for each in returned] == [
        *((each, "finished") for each in PROMPTS[:4]),
        ("A broken one", "failed"),
    ]
    assert [each["text"] for each in returned] == [*(f"Result of {each}" for each in PROMPTS[:4]), ""]


def journal(launches: Launches, run: str = RUN) -> Path:
    """Return the place of a run's journal in the present session."""
    return launches.transcript.with_suffix("") / "subagents" / "workflows" / run / NAME


def test_a_run_that_a_person_names_can_be_resumed(launches: Launches) -> None:
    """Even one that has ended and was used: the client looks for its journal before any hook hears of the call."""
    launches.ran(done=PROMPTS)
    launches.ended()
    notification = (
        f"<task-notification>\n<task-id>task-{RUN}</task-id>\n<status>completed</status>\n</task-notification>"
    )
    launches.fire("UserPromptSubmit", prompt=notification, prompt_id="made by the client")
    assert RUN not in new_session(launches).context
    assert not journal(launches).exists()
    launches.fire("UserPromptSubmit", prompt=f"Go on with {RUN}.", prompt_id="second")
    found = WorkflowRuns().journal(journal(launches).parent)
    assert found
    assert (found.done, found.whole) == (6, True)

    fired = launches.launch(script=SCRIPT, resumeFromRunId=RUN)
    assert passed(fired)  # the call is as it should be
    assert "6 of 6 agents finished in run" in fired.reply["systemMessage"]
    assert f"in run {RUN}" in holdfast("log", root=launches.project.root).out


@pytest.mark.parametrize("why", ["off", "alive", "to run again", "unknown"])
def test_a_run_that_a_person_names_is_left_alone(launches: Launches, why: str) -> None:
    """If that is configured, while another client works on it, if it is to run again, and if nobody knows it."""
    if why == "alive":
        launches.process = LIVES
    launches.ran(done=PROMPTS)
    if why != "alive":
        launches.ended()
    if why == "to run again":
        holdfast("agents", "--rerun", RUN, root=launches.project.root)
    if why == "off":
        launches.project.write({".claude/holdfast.toml": 'agents = "off"\n'})
        launches.project.trust()
    new_session(launches, prompt="")
    named = "wf_ffffffff-fff" if why == "unknown" else RUN
    launches.fire("UserPromptSubmit", prompt=f"Go on with {named}.", prompt_id="second").assert_silent(
        "require_reading", "restore_workflow", "sync_todos", "track_agents"
    )
    assert not (launches.transcript.with_suffix("") / "subagents" / "workflows" / named).exists()
