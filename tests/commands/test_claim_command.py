"""`holdfast claim` gives a workflow to a session on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions import conversations, messages, owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

RESTORED = "WORKFLOW RESTORED"


@pytest.fixture
def root(holdfast_project: Callable[..., HoldfastProject]) -> Path:
    """A project with one unfinished workflow of nobody."""
    root = holdfast_project({}).root
    holdfast("start", "Alpha", "--phase", "One", "--phase", "Two", root=root)
    return root


def live(root: Path, *names: str) -> None:
    project = Workspace.open(root)
    for name in names:
        conversations.note_event(project, name)
    project.close()


def owner(root: Path, title: str = "Alpha") -> str | None:
    project = Workspace.open(root)
    found = next(each for each in registry.all_found(project).workflows if each.title == title)
    name = owners.owner(project, found)
    project.close()
    return name


def owed(root: Path, session: str) -> list[str]:
    """Return the workflows that a session's model is still to hear that it was given."""
    project = Workspace.open(root)
    found = messages.pending_keys(project, session, messages.GIVEN)
    project.close()
    return found


def tell(root: Path, session: str) -> None:
    """Note that a session's model heard of them."""
    project = Workspace.open(root)
    for key in messages.pending_keys(project, session, messages.GIVEN):
        messages.tell(project, session, messages.GIVEN, key)
    project.close()


def test_only_who_did_not_ask_hears_of_it_at_the_next_prompt(root: Path) -> None:
    """Every time it is given one; the model that claims has the guidance at once."""
    live(root, ME, OTHER)
    holdfast("claim", "Alpha", root=root, session=ME)
    assert owed(root, ME) == []

    for asking in ("", ME):
        holdfast("claim", "Alpha", "--session", OTHER, "--anyway", root=root, session=asking)
        assert len(owed(root, OTHER)) == 1
        tell(root, OTHER)
        assert owed(root, OTHER) == []


def test_in_a_terminal_it_prints_the_text_whoever_is_live(root: Path) -> None:
    """And changes no live session's ownership: whose prompt the text becomes owns it."""
    wrong = []
    for names, owned_by, note in (
        ((), None, 'No session owns "Alpha" yet. The session that gets this text as its prompt will.\n'),
        ((OTHER,), None, f"To give it to a live session: `holdfast claim alpha --session {OTHER[:8]}`."),
        ((OTHER, ME), None, f"--session {ME[:8]}`, or `holdfast claim alpha --session {OTHER[:8]}`."),
        ((OTHER, ME), OTHER, f'"Alpha" belongs to session {OTHER[:8]}, which is live. A session with this text as its'),
    ):
        live(root, *names)
        if owned_by:
            holdfast("claim", "--session", owned_by, root=root)
        said = holdfast("claim", root=root)
        if not (said.out.startswith(f"{RESTORED}\n") and note in said.err and owner(root) == owned_by):
            wrong.append(f"{names}, {owned_by}: {said.err}")
    assert not wrong


def test_the_session_whose_prompt_is_the_text_owns_it(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Also beside its live owner, which is told once; a text that no command printed gives nothing away."""
    project = holdfast_project({})
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=OTHER)
    live(project.root, OTHER, ME)

    def prompted(session: str, prompt: str) -> str:
        return project.fire("UserPromptSubmit", "UserPromptSubmit", session_id=session, prompt=prompt).context

    text = holdfast("claim", root=project.root).out
    mark = text.partition("<workflow-data-")[2][:12]
    prompted(ME, text.replace(mark, "0123456789ab"))
    assert owner(project.root) == OTHER
    notice = f"<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<result>{text}</result>"
    prompted(ME, f"{notice}\n</task-notification>")
    assert owner(project.root) == OTHER
    prompted(ME, text)
    assert owner(project.root) == ME
    assert prompted(ME, "Go on.") == ""
    assert "Another session continues this workflow now." in (told := prompted(OTHER, "Hello."))
    assert '"Alpha"' in told and "`holdfast claim NAME --anyway` takes it back" in told
    assert prompted(OTHER, "And?") == ""
    holdfast("next", "alpha", root=project.root, session=OTHER)
    assert owner(project.root) == OTHER
    assert "Another session continues this workflow now." in prompted(ME, "Hello.")
    holdfast("next", "alpha", root=project.root, session=ME)
    assert RESTORED in project.fire("SessionStart", "SessionStart-compact", session_id=ME).context
    assert RESTORED not in project.fire("SessionStart", "SessionStart-compact", session_id=OTHER).context
    holdfast("claim", "--anyway", root=project.root, session=OTHER)
    assert owner(project.root) == OTHER


def test_who_never_had_a_workflow_is_not_told_who_has_it(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Also if it was free before."""
    project = holdfast_project({})
    holdfast("start", "Alpha", "--phase", "One", root=project.root)
    live(project.root, ME, OTHER)
    holdfast("next", "alpha", root=project.root, session=OTHER)
    assert project.fire("UserPromptSubmit", session_id=ME, prompt="Hello.").context == ""


def test_what_another_live_session_owns_is_taken_only_on_purpose(root: Path) -> None:
    """And it is said who lost it."""
    live(root, OTHER)
    holdfast("claim", root=root, session=OTHER)
    said = holdfast("claim", "Alpha", root=root, session=ME)
    assert said.err == f'"Alpha" still belongs to session {OTHER[:8]}, which is live. To take it, add --anyway.\n'
    assert said.out.startswith(RESTORED) and owner(root) == OTHER

    said = holdfast("claim", "Alpha", "--anyway", root=root, session=ME)
    assert owner(root) == ME
    assert f"Session {OTHER[:8]} no longer has it" in said.err

    project = Workspace.open(root)
    conversations.end(project, ME)
    project.close()
    assert "no longer has it" not in holdfast("claim", "Alpha", root=root, session=OTHER).err


def test_programs_are_told_the_ids_that_sessions_have_now(root: Path) -> None:
    """Not those that they began with."""
    live(root, OTHER)
    holdfast("claim", root=root, session=OTHER)
    project = Workspace.open(root)
    conversations.adopt(project, OTHER, THIRD)
    project.close()

    row = holdfast("claim", "Alpha", "--anyway", "--json", root=root, session=ME).json
    assert (row["session"], row["previous_owner"]) == (ME, THIRD)


def test_what_is_taken_anyway_need_not_be_named(root: Path) -> None:
    """Unless there are several; what is the session's own or free goes first; without it a way out is said."""
    live(root, OTHER)
    holdfast("claim", root=root, session=OTHER)
    holdfast("claim", "--session", ME, "--anyway", root=root)
    assert owner(root) == ME

    live(root, ME)
    holdfast("start", "Beta", "--phase", "One", root=root, session=ME)
    said = holdfast("claim", "--session", OTHER, "--anyway", root=root, code=1).err
    assert "2 workflows are unfinished; name one:" in said
    assert "--anyway alpha\n" in said and "--anyway beta\n" in said

    holdfast("start", "Gamma", "--phase", "One", root=root)
    holdfast("claim", "--session", OTHER, "--anyway", root=root)
    assert (owner(root), owner(root, "Beta"), owner(root, "Gamma")) == (ME, ME, OTHER)


def test_what_is_set_free_by_hand_is_the_next_sessions_however_old_it_is(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is live, so it is for whoever comes; a while later it is old again."""
    project = holdfast_project({})
    holdfast("start", "Alpha", "--phase", "One", root=project.root)
    monkeypatch.setenv("HOLDFAST_NOW", "2099-01-01T00:00:00Z")
    holdfast("claim", "Alpha", root=project.root)
    monkeypatch.setenv("HOLDFAST_NOW", "2099-01-09T00:00:00Z")
    assert RESTORED not in project.fire("SessionStart", "SessionStart-compact", session_id=OTHER).context
    project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2099-01-02T00:00:00Z")
    assert RESTORED in project.fire("SessionStart", "SessionStart-compact", session_id=ME).context


def test_what_is_completed_or_unknown_is_refused(root: Path) -> None:
    """With a way out."""
    assert 'no workflow is named "Beta"' in holdfast("claim", "Beta", root=root, code=1).err
    holdfast("done", "--all", root=root)
    said = holdfast("claim", "Alpha", root=root, code=1).err
    assert '"Alpha" was completed at' in said and "holdfast status" in said
    holdfast("start", "Gamma", "--format", "hybrid", "--phase", "One", root=root)
    holdfast("done", "--all", "Gamma", root=root)
    said = holdfast("claim", "Gamma", root=root, code=1).err
    assert '"Gamma"' in said and "completed" in said
