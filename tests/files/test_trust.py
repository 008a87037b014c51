"""Trust is given to a content at a path of a project."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files import atomic, trust

if TYPE_CHECKING:
    from pathlib import Path

NAME = ".claude/handlers/a.py"
CONTENT = trust.digest(b"content")


def test_the_real_root_counts(root: Path, tmp_path: Path) -> None:
    """A link to the project is the project; a link that is pointed elsewhere takes no trust along."""
    link = tmp_path / "link"
    link.symlink_to(root)
    trust.grant(link, {NAME: CONTENT})
    assert trust.trusted(root, NAME, CONTENT)

    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    assert not trust.trusted(link, NAME, CONTENT)


def test_grants_add_up_and_the_later_content_wins(root: Path) -> None:
    """A new grant keeps the others, and replaces the content known of the same file."""
    trust.grant(root, {NAME: CONTENT, "b": "1"})
    trust.grant(root, {NAME: "2"})

    assert trust.trusted(root, NAME, "2")
    assert not trust.trusted(root, NAME, CONTENT)
    assert trust.trusted(root, "b", "1")


def test_revoking_one_or_all(root: Path, tmp_path: Path) -> None:
    """Revoking says how many files lost trust, and leaves other projects alone."""
    other = tmp_path / "other"
    other.mkdir()
    trust.grant(root, {"a": "1", "b": "2", "c": "3"})
    trust.grant(other, {"a": "1"})

    assert trust.revoke(root, {"a", "unknown"}) == 1
    assert not trust.trusted(root, "a", "1")
    assert trust.revoke(root) == 2
    assert trust.revoke(root) == 0
    assert trust.trusted(other, "a", "1")
    assert list(json.loads((paths.config_dir() / "trust.json").read_text())) == [str(other.resolve())]


def test_the_trust_file_is_the_users_alone(root: Path) -> None:
    """The file is private (0600) in a private folder, and names root, path and digest for people to read."""
    trust.grant(root, {NAME: CONTENT})
    file = paths.config_dir() / "trust.json"

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(file.read_text()) == {str(root.resolve()): {NAME: CONTENT}}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"/x": 5}', b"\xff", b"[" * 9_999])
def test_a_broken_trust_file_trusts_nothing_and_is_not_overwritten(root: Path, content: bytes) -> None:
    """Reading it trusts nothing; changing it is refused with the way out, because it may hold much."""
    file = paths.ensure_private(paths.config_dir()) / "trust.json"
    file.write_bytes(content)

    assert not trust.trusted(root, NAME, CONTENT)
    with pytest.raises(StateError, match=r"trust\.json.*move it away"):
        trust.grant(root, {NAME: CONTENT})
    assert file.read_bytes() == content


@pytest.mark.parametrize("value", [True, 1, ["x"], None])
def test_only_the_very_digest_is_trust(root: Path, value: object) -> None:
    """A trust file that says `true` instead of a digest trusts nothing."""
    file = paths.ensure_private(paths.config_dir()) / "trust.json"
    file.write_text(json.dumps({str(root.resolve()): {NAME: value}}))

    assert not trust.trusted(root, NAME, CONTENT)


def test_the_trusted_content_is_kept_as_long_as_it_is_trusted(root: Path) -> None:
    """So that a change can be shown; private, bounded, and gone with the trust."""
    large = b"x" * (64 * 1024 + 1)
    entries = {NAME: trust.digest(b"content"), "large": trust.digest(large)}
    trust.grant(root, entries, [b"content", large])
    folder = paths.state_dir() / "trusted"
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert trust.content(root, NAME) == b"content"
    assert trust.content(root, "large") is None
    assert trust.content(root, "unknown") is None

    trust.grant(root, {NAME: trust.digest(b"more")}, [b"more"])
    assert [path.name for path in folder.iterdir()] == [trust.digest(b"more")]
    trust.revoke(root)
    assert list(folder.iterdir()) == []


def test_grants_at_the_same_time_are_all_kept(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another terminal that trusts something just before the file is written adds to it."""
    other = tmp_path / "other"
    other.mkdir()
    second = threading.Thread(target=trust.grant, args=(other, {NAME: CONTENT}))
    write = atomic.write

    def interrupted(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(atomic, "write", write)
        second.start()
        second.join(0.3)  # with a lock it waits for us
        write(*args, **options)

    monkeypatch.setattr(atomic, "write", interrupted)
    trust.grant(root, {NAME: CONTENT})
    second.join()
    assert trust.trusted(root, NAME, CONTENT)
    assert trust.trusted(other, NAME, CONTENT)


@pytest.mark.parametrize("kind", ["fifo", "device", "sparse", "folder", "link", "loop"])
def test_a_configuration_that_is_no_plain_file_is_not_trusted(root: Path, tmp_path: Path, kind: str) -> None:
    """It is refused at once, whatever a repository has put there."""
    file = paths.project_config(root)

    content = b"todos = 'off'\n"
    (tmp_path / "outside.toml").write_bytes(content)
    trust.grant(root, {".claude/holdfast.toml": trust.digest(content)})
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "sparse":
        with file.open("wb") as stream:
            stream.truncate(2 << 30)
    else:
        file.symlink_to({"device": "/dev/zero", "link": str(tmp_path / "outside.toml"), "loop": str(file)}[kind])

    assert not trust.config_trusted(root)
