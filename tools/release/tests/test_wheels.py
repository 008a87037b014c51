"""A wheel for one platform is whole and the same each time, and its relay is a program for that platform."""

from __future__ import annotations

import base64
import hashlib
import os
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from holdfast.install import native
from tests import relays as local
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


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="it reads programs for Linux")
def test_a_program_for_linux() -> None:
    """Of this source, for that processor, and without a dynamic linker."""
    name = f"linux-{os.uname().machine}"
    (other,) = {"linux-x86_64", "linux-aarch64"} - {name}
    program = local.compiled("-static").read_bytes()
    assert list(relays.problems(program, name)) == []
    assert list(relays.problems(program, other)) == ["is no program for that platform"]
    assert list(relays.problems(program.replace(SOURCE, b"0" * 16), name)) == [
        f"is of another source than {SOURCE.decode()}"
    ]
    assert "is cut off" in list(relays.problems(program[:10], name))
    assert list(relays.problems(local.compiled().read_bytes(), name)) == ["needs a dynamic linker"]


def mach(
    machine: int, *, oldest: int = 11 << 16, library: bytes = b"/usr/lib/libSystem.B.dylib", signed: bool = True
) -> bytes:
    """Return the head of a program for macOS, with what is said of it."""
    padded = library.ljust(32, b"\0")
    commands = [
        struct.pack("<6I", 0x32, 24, 1, oldest, oldest, 0),
        struct.pack("<6I", 0xC, 24 + len(padded), 24, 0, 0, 0) + padded,
    ]
    size = 32 + sum(map(len, commands)) + (16 if signed else 0)
    if signed:
        commands.append(struct.pack("<4I", 0x1D, 16, size + len(SOURCE), 4))
    head = struct.pack("<8I", 0xFEEDFACF, machine, 0, 2, len(commands), sum(map(len, commands)), 0, 0)
    return head + b"".join(commands) + SOURCE + (b"sign" if signed else b"")


@pytest.mark.parametrize(
    ("name", "program", "wrong"),
    [
        ("darwin-arm64", mach(0x0100000C), []),
        ("darwin-x86_64", mach(0x01000007), []),
        ("darwin-x86_64", mach(0x01000007, signed=False), []),
        ("darwin-arm64", mach(0x0100000C, signed=False), ["isn't signed, so that processor won't run it"]),
        ("darwin-arm64", mach(0x0100000C) + b"changed", ["isn't signed, so that processor won't run it"]),
        ("darwin-arm64", mach(0x0100000C, oldest=15 << 16), ["is for macOS 15.0 and newer, not 11.0"]),
        ("darwin-arm64", mach(0x0100000C, library=b"/opt/lib/odd.dylib"), ["needs /opt/lib/odd.dylib"]),
        ("darwin-arm64", mach(0x01000007), ["is no program for that platform"]),
    ],
)
def test_a_program_for_macos(name: str, program: bytes, wrong: list[str]) -> None:
    """For macOS 11, as its wheel says, signed where it must be, and with no library but the system's."""
    assert list(relays.problems(program, name)) == wrong


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
    assert [each for name in programs for each in relays.problems(programs[name], name)] == []
    assert list(relays.bundle_problems(programs, folder)) == []


def test_the_tag_of_macos_is_what_is_compiled_for() -> None:
    """Or it would be installed where it doesn't run."""
    version = "{}_{}".format(*relays.MACOS)
    for name, platform in relays.PLATFORMS.items():
        if name.startswith("darwin-"):
            assert platform.tags == (f"macosx_{version}_{name.removeprefix('darwin-')}",)
            assert platform.target.endswith("-macos." + version.replace("_", "."))
