"""Building, checking and trying sdist and wheels, and saying what to do next: `make release`. `make wheels` builds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release import contents, relays, trial, version, wheels

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


def main(only_build: bool) -> int:
    """Return the exit code: 0 if the tree can be released or was only built, 1 if something has to change first."""
    name = version.of(ROOT)
    problems = list(version.problems(ROOT))
    (sdist, *built), programs = build(name)
    if only_build:
        print("\n".join(str(each.relative_to(ROOT)) for each in (sdist, *built)))
        return 0
    problems += [*checked(sdist, *built), *relays.bundle_problems(programs, ROOT / "plugin" / "relays")]
    system = os.uname()
    here = relays.PLATFORMS.get(f"{system.sysname}-{system.machine}".lower())  # whose wheel is tried
    with tempfile.TemporaryDirectory(prefix="holdfast-release-") as folder:
        print("Downloading what it needs …", flush=True)
        trial.wheelhouse(ROOT, built[0], Path(folder))
        for archive in (sdist, *built):
            ours = here is not None and here.tags[0] in archive.name
            if not (archive in (sdist, built[0]) or ours):
                print(f"Not tried, for this machine is another platform: {archive.name}")
                continue
            print(f"Trying {archive.name} in an empty home …", flush=True)
            try:
                trial.attempt(archive, Path(folder), name, brings_relay=ours)
            except trial.TrialError as error:
                problems.append(f"{archive.name} does not work. {error}")
    print("\n" + conclusion(name, problems))
    return 1 if problems else 0


def build(name: str) -> tuple[list[Path], dict[str, bytes]]:
    """Build the sdist, the wheel from it, each in an environment of its own, and a wheel for each platform.

    Returns:
        The sdist and the wheels, and the relays that were compiled for them, by platform.

    Raises CalledProcessError, RelayError if that fails.
    """
    for old in DIST.glob("holdfast-*"):
        old.unlink()
    print(f"Building sdist and wheel of {name} …", flush=True)
    command = [sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    pure = DIST / f"holdfast-{name}-py3-none-any.whl"
    print("Compiling the relay for each platform, twice …", flush=True)
    programs = relays.build()
    return [DIST / f"holdfast-{name}.tar.gz", pure, *wheels.write(pure, programs).values()], programs


def checked(sdist: Path, *built: Path) -> list[str]:
    """Return what is wrong with the metadata and the contents of the sdist and of the wheels that were built."""
    print("Checking what is in them …", flush=True)
    files = contents.tracked(ROOT)
    problems = [*contents.sdist_problems(sdist, files)]
    for wheel in built:
        problems += contents.wheel_problems(wheel, files)
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, (sdist, *built))]
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
    first = ""
    if not version.has_urls(ROOT):
        first = """
Before you publish it, add [project.urls] to pyproject.toml: Source, Documentation, Issues and Changelog. Then run this
again. A package index links to nothing else.
"""
    return f"""Holdfast {name} is ready, in dist/. Nothing was uploaded. Next:
{first}
    git tag -a {name} -m "Holdfast {name}"
    git push origin {name}
    .release/bin/python -m twine upload dist/holdfast-{name}*    # if you publish it on a package index"""


if __name__ == "__main__":
    try:
        sys.exit(main("--only-build" in sys.argv[1:]))
    except relays.RelayError as error:
        sys.exit(str(error))
