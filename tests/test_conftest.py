"""The test suite's own safeguards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import paths
from tests.processes import ROOT

_PROBE = """
import os
from pathlib import Path

from tests.processes import ROOT
from holdfast import log, paths

def test_walls():
    assert [n for n in os.environ if n.startswith(("CLAUDE", "HOLDFAST_"))] == ["HOLDFAST_SERVER", "HOLDFAST_RELAY"]
    log.write("error", "from inside")
    assert log.tail(1)
"""


def test_nothing_points_at_the_real_home(home: Path) -> None:
    """Every folder Holdfast would write to lies inside the test's own home."""
    places = [paths.config_dir(), paths.state_dir(), paths.launcher()]

    assert all(place.is_relative_to(home) for place in places)
    assert os.environ["XDG_RUNTIME_DIR"] == str(home / "run")


@pytest.mark.slow
def test_outer_variables_do_not_reach_a_test(tmp_path: Path, home: Path) -> None:
    """A test run inside Claude Code sees none of its variables, and leaves nothing in the outer home."""
    (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
    (tmp_path / "test_probe.py").write_text(_PROBE)
    env = dict(
        os.environ,
        PYTHONPATH=str(ROOT),
        CLAUDECODE="1",
        CLAUDE_PROJECT_DIR="/x",
        HOLDFAST_SERVER="off",
        HOLDFAST_PROJECT_DIR="/x",
    )
    before = sorted(home.rglob("*"))

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:holdfast", str(tmp_path)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)

    assert done.returncode == 0, done.stdout
    assert sorted(home.rglob("*")) == before
