"""What the native relay reads is read right, whatever it is: run.conf, and the server's messages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import relays
from tests.processes import SOURCE

TARGET = Path(__file__).parent / "fuzz" / "relay_fuzz.c"


@pytest.fixture(scope="module")
def target() -> Path:
    """The fuzz target with sanitizers, and changes at random instead of libFuzzer."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    program = relays.folder() / "fuzz"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", *relays.SANITIZED, f"-I{SOURCE / 'holdfast'}"]
    subprocess.run(["cc", *flags, "-o", program, TARGET], check=True, capture_output=True)
    return program


@pytest.mark.parametrize(
    ("rounds", "seed"), [(2_000, 1), *(pytest.param(500_000, seed, marks=pytest.mark.nightly) for seed in (3, 4))]
)
def test_no_input_is_misread(target: Path, rounds: int, seed: int) -> None:
    """Nor written beyond its place: the target checks what was read, the sanitizers how."""
    done = subprocess.run([target, str(rounds), str(seed)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{rounds} rounds\n"
