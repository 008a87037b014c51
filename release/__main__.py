"""Building, checking and trying sdist and wheel, and saying what to do next: `make release`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from release import contents, trial, version

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def main() -> int:
    """Return the exit code: 0 if the tree can be released, 1 if something has to change first."""
    name = version.of(ROOT)
    problems = list(version.problems(ROOT))
    sdist, wheel = build(name)
    problems += checked(sdist, wheel)
    with tempfile.TemporaryDirectory(prefix="holdfast-release-") as folder:
        print("Downloading what it needs …", flush=True)
        trial.wheelhouse(ROOT, wheel, Path(folder))
        for archive in (sdist, wheel):
            print(f"Trying {archive.name} in an empty home …", flush=True)
            try:
                trial.attempt(archive, Path(folder), name)
            except trial.TrialError as error:
                problems.append(f"{archive.name} does not work. {error}")
    print("\n" + conclusion(name, problems))
    return 1 if problems else 0


def build(name: str) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it, each in an environment of its own; return both.

    Raises CalledProcessError if that fails.
    """
    for old in DIST.glob("holdfast-*"):
        old.unlink()
    print(f"Building sdist and wheel of {name} …", flush=True)
    command = [sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return DIST / f"holdfast-{name}.tar.gz", DIST / f"holdfast-{name}-py3-none-any.whl"


def checked(sdist: Path, wheel: Path) -> list[str]:
    """Return what is wrong with the metadata and the contents of both."""
    print("Checking what is in them …", flush=True)
    files = contents.tracked(ROOT)
    problems = [*contents.sdist_problems(sdist, files), *contents.wheel_problems(wheel, files)]
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", str(sdist), str(wheel)]
    twine = subprocess.run(command, capture_output=True, text=True, check=False)
    return (
        [*problems, f"twine check --strict refuses them:\n{twine.stdout}{twine.stderr}"]
        if twine.returncode
        else problems
    )


def conclusion(name: str, problems: list[str]) -> str:
    """Return what came of it and what to do next."""
    if problems:
        return "\n".join([f"Holdfast {name} is not ready to be released:", *(f"- {each}" for each in problems)])
    return f"""Holdfast {name} is ready, in dist/. Nothing was uploaded. Next:

    git tag -a {name} -m "Holdfast {name}"
    git push origin {name}
    .release/bin/python -m twine upload dist/holdfast-{name}*    # if you publish it on a package index"""


if __name__ == "__main__":
    sys.exit(main())
