"""Holdfast breaks or disappears during a session, and the session continues."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.client.model import agent, bash, say
from tests.client.test_compaction import HEADING, begin
from tests.environments import build_wheel, fresh_environment, install_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.runner import Session
    from tests.client.world import World


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def apart(bare: World, wheel: Path, tmp_path: Path) -> World:
    """A world whose Holdfast has an environment of its own, which a test may break."""
    bin_folder = fresh_environment(tmp_path)
    install_wheel(bin_folder, wheel, tmp_path)
    bare.program = bin_folder / "holdfast"
    bare.holdfast("install", "--scope", "user", "--yes")
    return bare


def delete_package(venv: Path) -> None:
    """Uninstall the package, as `pip uninstall` does, without `holdfast uninstall` before."""
    (package,) = venv.glob("lib/python3*/site-packages/holdfast")
    shutil.rmtree(package)


def delete_interpreter(venv: Path) -> None:
    """Remove the whole environment."""
    shutil.rmtree(venv)


def stop_half_way(venv: Path) -> None:
    """Leave what an upgrade leaves that was killed: some modules gone, one cut off."""
    (package,) = venv.glob("lib/python3*/site-packages/holdfast")
    for name in ("plugins/outcomes.py", "sessions/compactions.py", "formats/hybrid/format.py"):
        (package / name).unlink()
    engine = package / "engine.py"
    engine.write_bytes(engine.read_bytes()[:2000])
    for cache in package.rglob("__pycache__"):
        shutil.rmtree(cache)


@pytest.mark.scenario(10)
@pytest.mark.parametrize(
    "breaks", [delete_package, pytest.param(delete_interpreter, marks=pytest.mark.nightly), stop_half_way]
)
def test_a_session_goes_on(apart: World, wheel: Path, tmp_path: Path, breaks: Callable[[Path], None]) -> None:
    """Prompts, tools, agents and a compaction work on; only a session's start tells. Installed again, it restores."""
    begin(apart, "compaction")
    session = apart.client.session()
    session.prompt("Begin.")
    breaks(tmp_path / "venv")
    before = len(session.lines)
    apart.model.turns = [bash("echo fine"), agent("Look around", "LOOK"), say("Done.")]
    apart.model.agents["LOOK"] = [say("Looked.")]
    ran = [session.prompt(text) for text in ("Work.", "/compact", "Go on.")]
    print(apart.hooks(session))
    assert ran[0].result == "Done." and ran[2].result == "Done."
    spoken = [a for a in answers_of(session, before) if a.get("exit_code") or a.get("stdout") or a.get("stderr")]
    assert [(a["hook_event"], a.get("exit_code"), "To install it again:" in str(a["stdout"])) for a in spoken] == [
        ("SessionStart", 0, True)
    ]
    assert not session.errors and not session.junk
    assert HEADING not in apart.model.of("main")[-1].text

    if not (tmp_path / "venv").exists():
        fresh_environment(tmp_path)
    install_wheel(tmp_path / "venv" / "bin", wheel, tmp_path)
    session.prompt("/compact")
    session.prompt("And on.")
    assert apart.model.of("main")[-1].text.count(HEADING) == 1


GUARD = '''
from holdfast import deny, hookimpl

@hookimpl(match="shell", strict=True)
def on_pre_tool_use(event):
    """Refuse."""
    return deny("NOT-HERE") if "touch" in event.tool_input["command"] else None
'''


@pytest.mark.scenario(10)
@pytest.mark.parametrize(
    "breaks", [delete_package, delete_interpreter, pytest.param(stop_half_way, marks=pytest.mark.nightly), None]
)
def test_a_strict_guard_stays_closed(apart: World, breaks: Callable[[Path], None] | None) -> None:
    """Whatever breaks, or where the guard's file is cut short, a call is refused, and the reason names a command."""
    folder = apart.client.home / ".config/holdfast/handlers"
    folder.mkdir(parents=True)
    (folder / "guard.py").write_text(GUARD)
    apart.client.session().prompt("Let Holdfast see the guard, and register what it wants.")
    session = apart.client.session()
    apart.model.turns = [bash("touch before"), say("Done.")]
    session.prompt("Begin.")
    assert "NOT-HERE (user/guard.py)" in apart.model.of("main")[-1].last
    if breaks:
        breaks(apart.program.parents[1])
    else:
        (folder / "guard.py").write_text("")
    apart.model.turns = [bash("touch after"), say("Done.")]
    session.prompt("Go on.")
    refusal = apart.model.of("main")[-1].last
    assert "guard.py" in refusal
    assert ("holdfast uninstall" if breaks else "holdfast handlers off guard") in refusal
    assert not {path.name for path in apart.project.iterdir()} & {"before", "after"}


@pytest.mark.scenario(10)
def test_uninstalled_in_mid_session(apart: World) -> None:
    """What the client still calls until its session ends says nothing; the next session calls nothing of ours."""
    begin(apart, "compaction")
    session = apart.client.session()
    session.prompt("Begin.")
    apart.holdfast("uninstall", "--scope", "user")
    assert not apart.settings.exists()
    before = len(session.lines)
    ran = [session.prompt(text) for text in ("Work.", "/compact", "Go on.")]
    assert not [a for a in answers_of(session, before) if a.get("exit_code") or a.get("stdout") or a.get("stderr")]
    assert not session.errors and not [notice for each in ran for notice in each.notices]
    assert HEADING not in apart.model.of("main")[-1].text
    session.close()
    following = apart.client.session("--resume", session.id)
    following.prompt("And on.")
    assert not apart.hooks(following)


def answers_of(session: Session, first: int) -> list[dict[str, object]]:
    """Return what hooks answered since a line of the session's stream."""
    return [line for line in session.lines[first:] if line.get("subtype") == "hook_response"]
