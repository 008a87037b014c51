"""A wheel for one platform is whole and the same each time, and its relay is a program for that platform."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING

from holdfast.install import native
from tests.processes import ROOT
from tools.release import contents, relays, wheels

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
INFO = "holdfast-1.0.dist-info"
SOURCE = native.digest().encode()


def pure(folder: Path) -> Path:
    """Write a pure wheel."""
    folder.mkdir(exist_ok=True)
    path = folder / "holdfast-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (("holdfast/cli.py", "run"), (f"{INFO}/WHEEL", WHEEL), (f"{INFO}/RECORD", "old")):
            archive.writestr(zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0)), text)
    return path


def test_a_wheel_for_each_platform(tmp_path: Path) -> None:
    """With the tags that its name and its WHEEL name, the relay, and a RECORD of all; the same bytes each time."""
    made = wheels.write(pure(tmp_path), {name: name.encode() for name in relays.PLATFORMS})
    assert [path.name for path in made.values()] == [
        "holdfast-1.0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl",
        "holdfast-1.0-py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl",
        "holdfast-1.0-py3-none-macosx_11_0_x86_64.whl",
        "holdfast-1.0-py3-none-macosx_11_0_arm64.whl",
    ]
    again = wheels.write(pure(tmp_path / "again"), {name: name.encode() for name in relays.PLATFORMS})
    assert [path.read_bytes() for path in made.values()] == [path.read_bytes() for path in again.values()]
    for name, path in made.items():
        with zipfile.ZipFile(path) as archive:
            files = {each.filename: archive.read(each) for each in archive.infolist()}
            assert archive.infolist()[-1].filename == f"{INFO}/RECORD"
            assert archive.getinfo(wheels.RELAY).external_attr >> 16 == 0o100755
        tags = "".join(f"Tag: py3-none-{tag}\n" for tag in relays.PLATFORMS[name].tags)
        assert files[f"{INFO}/WHEEL"].decode() == f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n{tags}"
        assert (files["holdfast/cli.py"], files[wheels.RELAY]) == (b"run", name.encode())
        rows = [row.split(",") for row in files.pop(f"{INFO}/RECORD").decode().splitlines()]
        assert rows.pop() == [f"{INFO}/RECORD", "", ""]
        assert {row[0]: row[1:] for row in rows} == {
            file: [
                "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="), str(len(data))
            ]
            for file, data in files.items()
        }  # fmt: skip


def test_a_wheel_for_a_platform_must_have_its_relay(tmp_path: Path) -> None:
    """And a pure one must not."""
    made = wheels.write(pure(tmp_path), {"darwin-arm64": b"program"})["darwin-arm64"]
    assert not [each for each in contents.wheel_problems(made, ["src/holdfast/cli.py"]) if "relay" in each]
    renamed = made.replace(tmp_path / "holdfast-1.0-py3-none-any.whl")
    assert f"has, but should not, {wheels.RELAY}." in "".join(contents.wheel_problems(renamed, ["src/holdfast/cli.py"]))
    lacking = pure(tmp_path).replace(made)
    assert wheels.RELAY in "".join(contents.wheel_problems(lacking, ["src/holdfast/cli.py"]))


def test_what_the_plugin_brings_is_what_was_built(tmp_path: Path) -> None:
    """Any other byte, and any other hash, is named."""
    programs = {"linux-x86_64": b"one", "darwin-arm64": b"two"}
    relays.bundle(programs, tmp_path)
    assert list(relays.bundle_problems(programs, tmp_path)) == []
    (tmp_path / "darwin-arm64").write_bytes(b"other")
    (problem,) = relays.bundle_problems(programs, tmp_path)
    assert problem.startswith(f"{tmp_path / 'darwin-arm64'} isn't what src/holdfast/relay.c compiles to.")
    (tmp_path / "linux-x86_64").unlink()
    (tmp_path / relays.SUMS).write_text("")
    assert len(list(relays.bundle_problems(programs, tmp_path))) == 3


def test_the_relays_in_the_plugin_are_of_this_source() -> None:
    """For each platform, with the hash that is named (make plugin)."""
    folder = ROOT / "plugin" / "relays"
    programs = {name: (folder / name).read_bytes() for name in relays.PLATFORMS}
    assert [name for name, program in programs.items() if SOURCE not in program] == []
    assert list(relays.bundle_problems(programs, folder)) == []


def test_the_tag_of_macos_is_what_is_compiled_for() -> None:
    """Or it would be installed where it doesn't run."""
    for name, platform in relays.PLATFORMS.items():
        if name.startswith("darwin-"):
            (tag,) = platform.tags
            version = platform.target.partition("-macos.")[2].replace(".", "_")
            assert tag == f"macosx_{version}_{name.removeprefix('darwin-')}"
