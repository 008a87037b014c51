"""The page orchestration of document 001, ten phases, across three compactions to its end.

    python examples/page_orchestration.py

It begins with nothing but the document's CLAUDE.local.md. In between a person edits the state file by hand, a subagent
is at work during a compaction, and the memory file stays behind and moves ahead. Every event is a recorded payload of
the real client, sent through the registered command into a throw-away project. Exit code 1, with what was not shown,
when a promise is not kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.commands.demo import narrate
from holdfast.testkit import stage
from holdfast.testkit.acts import NotShown, Panel, Shown, promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.testkit.agent import Agent
    from holdfast.testkit.reply import Heard
    from holdfast.testkit.stage import Stage

TITLE = "Page Orchestration - Case Studies"
MEMORY = f"""# Current Workflow State

Workflow: {TITLE}
Phase: 4/10 - SEO Generation

@CLAUDE/PageOrchestration.md
@CLAUDE/Sitemap/case-studies.md
"""
FOLDER = "untracked/workflow-state/page-orchestration-case-studies"

READING = ["@CLAUDE/PageOrchestration.md", "@CLAUDE/Sitemap/case-studies.md"]
MORE_READING = "@CLAUDE/Seo.md"
REMINDERS = ["Every title has at most 60 characters", "Skip phase 7 for pages without pictures"]
BY_HAND = "Never change the address of a published page"
CONTEXT = {"page": "case-studies", "plan_number": 12}
NOTES = {
    4: "titles and descriptions are in content/seo.json",
    5: "every case study links to two others",
    6: "Three pictures still need an alternative text: the harbour by night, which the client wants to see first on "
    "the page; the team at the whiteboard, where the names of all five people have to be spelled as in the contract; "
    "and the chart of the second quarter, whose colours cannot be told apart when it is printed.",
    8: "the review found nothing to change",
    9: "the sitemap lists all twelve case studies",
}


def main() -> None:
    """Tell the story; exit code 1 if a promise is not kept."""
    with stage.opened() as throwaway:
        narrate(throwaway, Orchestration(throwaway).story(), "Ten phases, three compactions, nothing lost: completed.")


class Orchestration:
    """The story, with what has to come back after the next compaction.

    Attributes:
        project: where it is told.
        facts: each of them once, in the words in which it was written down.
        path: the state file.
        born: its content when it was made.
        agent: the subagent that works in the background.
        guidance: the text the model was given last.
    """

    agent: Agent[Heard]
    guidance: str

    def __init__(self, project: Stage) -> None:
        """Begin with an empty project."""
        self.project = project
        self.facts: list[str] = [TITLE, *READING]
        self.born: dict[str, Any] = {}
        self.path = Path()

    def story(self) -> Iterator[Shown]:
        """Run the workflow, a step at a time, and check at each what document 001 promises."""
        self.project.install()
        yield self.remember()
        yield from self.first_compaction()
        yield self.go_on()
        yield self.edit_by_hand()
        yield self.second_compaction()
        yield self.hear_from_the_agent()
        yield self.third_compaction()
        yield self.look_into_the_sidecar()
        yield self.complete()
        yield self.stay_completed()

    def remember(self) -> Shown:
        """The agent keeps its place in CLAUDE.local.md, as the document shows it."""
        self.project.write("CLAUDE.local.md", MEMORY)
        for entry in [*READING, MORE_READING]:
            self.project.write(entry.removeprefix("@"), "What has to be known about these pages.\n")
        promise(not (self.project.root / "untracked").exists(), "no state file is there yet")
        return Shown(
            "A workflow that only a memory file knows",
            "nothing is sent: the file was written by hand",
            [self.project.file("CLAUDE.local.md")],
            "Pages are written in ten phases, and the work is in the fourth. Nobody called Holdfast; the agent merely "
            "noted where it is, and which two files must be read.",
        )

    def first_compaction(self) -> Iterator[Shown]:
        """PreCompact makes the state file out of the memory file, SessionStart gives it back."""
        before, after = self.project.compact("manual")
        found = list((self.project.root / FOLDER).glob("*"))
        promise(len(found) == 1, f"there is one state file in {FOLDER}")
        (self.path,) = found
        named = re.fullmatch(r"state-page-orchestration-case-studies-\d{8}_\d{6}\.json", self.path.name)
        promise(named is not None, "its name holds the workflow's name and the time of its start")
        self.born = self.state()
        promise(self.born["required_reading"] == READING, "the reading is kept, with its @")
        self.at(4, "SEO Generation")
        promise(TITLE in before.stdout and "{" not in before.stdout, "the summariser is told in plain text")
        yield Shown(
            "Compaction 1: before it, the state is saved",
            "PreCompact (manual)",
            [Panel("what the summariser is told", before.stdout), self.kept()],
            f"The memory file is recognised as a workflow. Its state is in {FOLDER} from now on.",
        )
        self.restored(after, "4/10")
        yield Shown(
            "Compaction 1: after it, the model gets the workflow back",
            "SessionStart (source: compact)",
            [told(after)],
            "The conversation is gone. This text is in front of the model before its next step: what it worked on, "
            "what it must read first, what it should do before anything else.",
        )

    def go_on(self) -> Shown:
        """The model adds what it learnt and completes two phases, leaving a note each time."""
        reminders = [word for text in REMINDERS for word in ("--remind", text)]
        context = [word for name, value in CONTEXT.items() for word in ("--set", f"{name}={value}")]
        run = self.project.holdfast
        run("update", "--read", MORE_READING, *reminders, *context)
        run("done", "--note", NOTES[4])
        run("update", "--rename", "Internal Links")
        self.at(5, "Internal Links")
        run("done", "--note", NOTES[5])
        run("update", "--rename", "Pictures")
        self.at(6, "Pictures")
        self.facts += [MORE_READING, *REMINDERS, "page: case-studies", "plan_number: 12", NOTES[4], NOTES[5]]
        return Shown(
            "The work goes on: two phases are completed",
            "holdfast update --read … --remind … --set …, then twice: holdfast done --note … and update --rename NAME",
            [self.kept()],
            "The model calls these commands from its Bash tool. They change the same file; what was there stays.",
        )

    def edit_by_hand(self) -> Shown:
        """A person changes the state file in an editor, and adds a key of their own."""
        state = self.state()
        state["key_reminders"].append(BY_HAND)
        state["reviewer"] = "Dana"
        self.project.write(self.place, json.dumps(state, indent=4) + "\n")
        self.facts.append(BY_HAND)
        return Shown(
            "A person edits the state file",
            "nothing is sent: the file was changed in an editor",
            [self.kept()],
            f"The file belongs to people as well. This one adds the reminder {BY_HAND!r} and a key that Holdfast knows "
            "nothing of, 'reviewer'. Both are there to the end.",
        )

    def second_compaction(self) -> Shown:
        """An automatic compaction while a subagent works in the background."""
        prompt = "Open every link of the case studies."
        self.agent = self.project.agent("Explore", "Check all links", prompt, background=True)
        self.agent.about_to()
        self.agent.launched()
        self.agent.started()
        self.own_compaction_of_the_agent()
        kept = self.path.read_bytes()
        _, after = self.project.compact("auto")
        promise(self.path.read_bytes() == kept, "with nothing new to save the file is not written again")
        self.restored(after, "6/10")
        promise("is running" not in after.context, "what is running is left to the client, which names it")
        return Shown(
            "Compaction 2, while a subagent checks links in the background",
            "PreToolUse and PostToolUse (Agent, in the background), SubagentStart, the subagent's own PreCompact and "
            "SessionStart, then PreCompact (auto) and SessionStart (compact)",
            [self.data(after)],
            "CLAUDE.local.md still says phase 4; nobody kept it up to date. It did not change since it was last read, "
            "so it does not roll the workflow back. The edit by hand is there. So is the subagent: the model must not "
            "launch it a second time. (From here on only the part of the text that is about the workflow is printed.)",
        )

    def own_compaction_of_the_agent(self) -> None:
        """The subagent's own context is compacted: it gets its task back, and nothing is the main conversation's."""
        who = {"agent_id": self.agent.run, "agent_type": "Explore"}
        kept = self.path.read_bytes()
        before = self.project.fire("PreCompact-auto-in-subagent", **who)
        after = self.project.fire("SessionStart-compact-in-subagent", **who)
        promise("Open every link" in after.context, "a subagent gets back what it was launched for")
        own = before.stdout == "" and "Page Orchestration" not in after.context
        promise(own, "a subagent's own compaction restores no workflow to it")
        promise(self.path.read_bytes() == kept, "and saves none")

    def hear_from_the_agent(self) -> Shown:
        """The subagent reports; the model goes on; then a person moves the memory file ahead."""
        self.agent.stopped("All 214 links work.")
        self.agent.notified(words="All 214 links work.")
        self.project.holdfast("done", "--note", NOTES[6])
        self.project.holdfast("update", "--phase", "8")
        self.project.holdfast("done", "--note", NOTES[8])
        self.project.write("CLAUDE.local.md", MEMORY.replace("4/10 - SEO Generation", "9/10 - Sitemap"))
        self.facts += [NOTES[6], NOTES[8]]
        return Shown(
            "The subagent reports, and phases 6 to 8 are passed",
            "SubagentStop, UserPromptSubmit (<task-notification>), holdfast done --note … and update --phase 8",
            [self.kept(), self.project.file("CLAUDE.local.md")],
            "Phase 7 is skipped, as a reminder asks for. The note for phase 6 is a long one. At last somebody brings "
            "CLAUDE.local.md up to date.",
        )

    def third_compaction(self) -> Shown:
        """A changed memory file counts; a note that is too long is shortened, with a pointer to the sidecar."""
        _, after = self.project.compact("auto")
        self.at(9, "Sitemap")
        self.restored(after, "9/10")
        promise("is running" not in after.context, "the subagent that has reported isn't named as running")
        promise(NOTES[6] not in after.context, "the long note is shortened")
        return Shown(
            "Compaction 3: the memory file changed, so it counts",
            "PreCompact (auto), SessionStart (compact)",
            [self.data(after)],
            "Phase 9 has its name from CLAUDE.local.md. Nothing that was learnt on the way is missing. One note is too "
            "long for this text; it ends with a pointer to the sidecar.",
        )

    def look_into_the_sidecar(self) -> Shown:
        """The file that the guidance names holds everything whole."""
        found = re.search(r"^Full version: (.+) \(sha256 ([0-9a-f]{12})\)$", self.guidance, re.MULTILINE)
        if found is None:
            raise NotShown("not shown: the guidance names the sidecar")
        path = Path(found[1])
        promise(hashlib.sha256(path.read_bytes()).hexdigest()[:12] == found[2], "the sidecar is the one that was meant")
        whole = path.read_text("utf-8")
        for fact in self.facts:
            promise(fact in whole, f"{fact!r} stands in the sidecar, whole")
        return Shown(
            "The sidecar has all of it, whole",
            "nothing is sent: the model reads the file that was named",
            [self.project.file(path, lines=60)],
            "It lies in the project, where the model may read it. Its hash is the one in the text above, and the long "
            "note is whole here.",
        )

    def complete(self) -> Shown:
        """The last phase is done: the state file goes, and its folder with it."""
        self.project.holdfast("done", "--note", NOTES[9])
        self.at(10)
        printed = self.project.holdfast("done")
        promise(not self.path.exists() and not self.path.parent.exists(), "the state file and its folder are gone")
        promise((self.project.root / "CLAUDE.local.md").exists(), "the person's own memory file is left alone")
        return Shown(
            "The tenth phase is done: the workflow is completed",
            "holdfast done --note …, then holdfast done",
            [Panel("what it prints", printed)],
            f"{FOLDER} is removed, as the document asks for. CLAUDE.local.md is not Holdfast's to remove; it "
            "still says phase 9.",
        )

    def stay_completed(self) -> Shown:
        """The memory file that was left over does not bring the workflow back."""
        before, after = self.project.compact("auto")
        told = before.stdout + after.context
        promise(TITLE not in told, "a completed workflow is neither saved nor restored")
        promise(not self.path.parent.exists(), "the left-over memory file does not revive it")
        listed, archived = self.project.holdfast("status"), self.project.holdfast("status", "--all")
        promise("no workflow is in progress" in listed, "nothing of it is in progress any more")
        promise(TITLE in archived, "but it is in the archive")
        return Shown(
            "One more compaction: a completed workflow stays completed",
            "PreCompact (auto), SessionStart (compact)",
            [Panel("holdfast status", listed), Panel("holdfast status --all", archived)],
            "Neither the summariser nor the model is told of it, although CLAUDE.local.md is still there. "
            "What the workflow was can be looked up in the archive.",
        )

    def at(self, number: int, name: str | None = None) -> None:
        """Promise the current phase, and that it is still the same file with all it began with."""
        now = self.state()
        phase = now["phase"]
        promise((phase["current"], phase["total"]) == (number, 10), f"the workflow is at phase {number}/10: {phase}")
        promise(name in (None, phase["name"]), f"phase {number} is called {name!r}: {phase}")
        promise(now["created_at"] == self.born["created_at"], "created_at never changes")
        promise(set(now["required_reading"]) >= set(READING), "no reading is lost")
        promise(list((self.project.root / FOLDER).iterdir()) == [self.path], "there is still only the one state file")

    def restored(self, heard: Heard, position: str) -> None:
        """Promise that a guidance brings back the position and every fact; a long one at least begins there."""
        promise(f"✅ Workflow restored: {TITLE}, Phase {position}" in heard.context, f"phase {position} is restored")
        for heading in ("REQUIRED READING", "ACTION REQUIRED"):
            promise(heading in heard.context, f"the guidance has the heading {heading}")
        for fact in self.facts:
            promise(fact[:150] in heard.context, f"{fact!r} comes back")
        self.guidance = heard.context
        now = self.state()
        promise(now["created_at"] == self.born["created_at"], "created_at never changes")
        promise(BY_HAND not in self.facts or now.get("reviewer") == "Dana", "the person's own key is kept")

    def state(self) -> dict[str, Any]:
        """Return the state file's content."""
        state: dict[str, Any] = json.loads(self.path.read_text("utf-8"))
        return state

    @property
    def place(self) -> str:
        """The state file's path in the project."""
        return self.path.relative_to(self.project.root).as_posix()

    def kept(self) -> Panel:
        """Return what the state file holds, readable without its brackets."""
        state = self.state()
        state["phase"] = "{current}/{total} - {name} ({status})".format(**state["phase"])
        notes: dict[str, str] = state["context"].pop("phase_notes", {})
        state["context"] = [f"{name} = {value}" for name, value in state["context"].items()]
        state["phase_notes"] = [f"{number}: {note}" for number, note in notes.items()]
        lines = []
        for key, value in state.items():
            items = value if isinstance(value, list) else [value]
            for name, item in zip([key, *[""] * len(items)], items, strict=False):
                lines += textwrap.wrap(f"{name:<17} {item}", stage.COLUMNS, subsequent_indent=" " * 18)
        return Panel("what the state file holds", "\n".join(lines))

    def data(self, heard: Heard) -> Panel:
        """Return the part of the guidance that is about the workflow."""
        inside = heard.context.partition("<workflow-data-")[2].partition("\n")[2].partition("\n</workflow-data-")[0]
        return Panel("what the model is told", inside)


def told(heard: Heard) -> Panel:
    """Return what reached the model."""
    return Panel("what the model is told", heard.context)


if __name__ == "__main__":
    main()
