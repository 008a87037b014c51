"""The wheels for one platform each: the pure wheel, with the relay's program in it."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tools.release import relays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RELAY = "holdfast/_shipped/relay"
"""Where a wheel has the program; `install.native.shipped` looks there."""
_PURE = ("Root-Is-Purelib: true\n", "Tag: py3-none-any\n")


def write(pure: Path, programs: Mapping[str, bytes]) -> dict[str, Path]:
    """Write the wheel of each platform beside the pure one; return their paths, by the platform's name.

    The same wheel and programs give the same bytes. Raises ValueError for a wheel that isn't pure.
    """
    return {name: _write(pure, program, relays.PLATFORMS[name].tags) for name, program in programs.items()}


def _write(pure: Path, program: bytes, tags: tuple[str, ...]) -> Path:
    target = pure.with_name("-".join([*pure.name.split("-")[:2], "py3", "none", ".".join(tags)]) + ".whl")
    with zipfile.ZipFile(pure) as archive:
        files = {info.filename: (info, archive.read(info)) for info in archive.infolist()}
    (record,) = [name for name in files if name.endswith(".dist-info/RECORD")]
    description = str(PurePosixPath(record).with_name("WHEEL"))
    info, text = files[description]
    files[description] = info, _described(text.decode("utf-8"), tags).encode("utf-8")

    last, _ = files.pop(record)  # a wheel's RECORD is its last file
    relay = zipfile.ZipInfo(RELAY, last.date_time)
    relay.compress_type, relay.create_system, relay.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100755 << 16
    files[RELAY] = relay, program
    rows = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, (_, data) in files.items()]
    files[record] = last, "".join([*rows, f"{record},,\n"]).encode("utf-8")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in files.values():
            archive.writestr(info, data)
    return target


def _described(text: str, tags: tuple[str, ...]) -> str:
    """Return the text of WHEEL for these platforms."""
    if not all(line in text for line in _PURE):
        raise ValueError("only of a pure wheel can one for a platform be made")
    text = text.replace(_PURE[0], "Root-Is-Purelib: false\n")
    return text.replace(_PURE[1], "".join(f"Tag: py3-none-{tag}\n" for tag in tags))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
