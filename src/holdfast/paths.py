"""Paths: Holdfast's own folders, the shipped files, and a project's root and folders."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import platformdirs  # not lazily: without it not even its absence could be logged

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_LIMIT_BYTES = 4096
"""A path must be shorter than this (Linux: PATH_MAX, which includes the final zero byte)."""
_APP = "holdfast"
_PACKAGE = Path(__file__).resolve().parent


def config_dir() -> Path:
    """Return the folder of the user's configuration and handlers (XDG_CONFIG_HOME is respected)."""
    return _known("config", os.environ.get("HOME"), os.environ.get("XDG_CONFIG_HOME"))


def state_dir() -> Path:
    """Return the folder of the ledgers and the log (XDG_STATE_HOME is respected)."""
    return _known("state", os.environ.get("HOME"), os.environ.get("XDG_STATE_HOME"))


@cache
def _known(kind: Literal["config", "state"], *variables: str | None) -> Path:
    """Return one of Holdfast's folders; cached by the variables it depends on, because each event needs it often."""
    find = platformdirs.user_config_path if kind == "config" else platformdirs.user_state_path
    return find(_APP, appauthor=False)


def log_file() -> Path:
    """Return the log's path; its folder may not exist yet."""
    return state_dir() / "log" / "holdfast.log"


def home() -> Path:
    """Return the user's home folder. Raises HoldfastError if neither HOME nor the system names one."""
    try:
        return Path.home()
    except RuntimeError as error:
        text = f"HOME isn't set, and user {os.getuid()} has no passwd entry"
        raise HoldfastError(f"{text}; set HOME to your home folder, then run the command again") from error


def launcher() -> Path:
    """Return the entrypoint that settings.json names: the same path below $HOME on every machine."""
    return Path.home() / ".local" / "share" / _APP / "run"


def entrypoint() -> Path:
    """Return the Python entrypoint that the native relay starts."""
    return launcher().with_name("run.py")


def relay_conf() -> Path:
    """Return the file next to the native relay that names what it may start."""
    return launcher().with_name("run.conf")


def command_dir() -> Path:
    """Return the folder that is appended to the model's PATH; it holds only the `holdfast` command."""
    return Path.home() / ".local" / "share" / _APP / "bin"


def package_root() -> Path:
    """Return the folder to put on `sys.path` for `import holdfast`."""
    return _PACKAGE.parent


def shipped(kind: Literal["catalogue", "handlers", "hooks", "skills"]) -> Path:
    """Return a folder of shipped files: the checkout's if the package lies in `src/`, else the wheel's."""
    checkout = _PACKAGE.parent.parent / kind
    if _PACKAGE.parent.name == "src" and checkout.is_dir():
        return checkout
    return _PACKAGE / "_shipped" / kind


def plugin_root() -> Path:
    """Return the root of the plugin copy or checkout whose `src` holds this package.

    Meaningless if the package is installed elsewhere.
    """
    return _PACKAGE.parent.parent


def plugin_manifest() -> Path:
    """Return the path of the plugin's manifest; an installed package has none."""
    return plugin_root() / ".claude-plugin" / "plugin.json"


def modules(folder: str) -> list[str]:
    """Return the names of the public modules in one of the package's folders, sorted, without packages.

    Args:
        folder: relative to the package, such as `checks`.
    """
    files = os.listdir(_PACKAGE / folder)  # noqa: PTH208 - the quickest way, and each event lists a folder
    return sorted(file[:-3] for file in files if file.endswith(".py") and not file.startswith("_"))


def format_index() -> Path:
    """Return the path of the index of formats from other packages; it exists only if a package brings one."""
    return state_dir() / "formats.json"


def user_handlers() -> Path:
    """Return the folder of the user's own handlers."""
    return config_dir() / "handlers"


def project_handlers(root: Path) -> Path:
    """Return the folder of a project's handlers, which run only if trusted."""
    return root / ".claude" / "handlers"


def user_templates() -> Path:
    """Return the folder of the user's own templates."""
    return config_dir() / "templates"


def project_templates(root: Path) -> Path:
    """Return the folder of a project's templates; they are data and need no trust."""
    return root / ".claude" / "templates"


def user_config() -> Path:
    """Return the path of the user's configuration file."""
    return config_dir() / "holdfast.toml"


def managed_config() -> Path:
    """Return the path of an administrator's configuration file, which only they can write."""
    return Path("/Library/Application Support" if sys.platform == "darwin" else "/etc") / _APP / "holdfast.toml"


def project_config(root: Path) -> Path:
    """Return the path of a project's configuration file."""
    return root / ".claude" / "holdfast.toml"


def plans_dir(root: Path) -> Path:
    """Return the folder of a project's plans; it may not exist."""
    return root / "CLAUDE" / "Plan"


def sidecar_dir(root: Path) -> Path:
    """Return the project's folder for sidecars, which the model may read."""
    return root / ".claude" / "holdfast"


def shown(text: str) -> str:
    """Return a text for people in which paths are short: relative to the working folder, or with `~` for home.

    What a command names stays valid: no shell expands `~` in quotes, or after `=` everywhere, and a file called `-x` or
    `~x` keeps its folder.
    """
    try:
        here = os.getcwd()  # noqa: PTH109 - text is all that is wanted
    except OSError:
        here = ""
    for folder, sign in ((here, ""), (os.environ.get("HOME", ""), "~/")):
        if len(folder) > 1:
            literal = "'\"=" if sign else ""
            text = re.sub(rf"(?<![\w/.~{literal}-]){re.escape(folder)}/(?=[^\s/~-])", sign, text)
    return text


def ensure_private(folder: Path) -> Path:
    """Create a folder and its missing parents with mode 0700, and return it.

    Existing folders keep their mode. Raises OSError if a folder can't be created, or a file is in its place.
    """
    if not folder.is_dir():
        if folder.parent != folder:
            ensure_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def is_foreign(folder: Path) -> bool:
    """Return whether a folder belongs to another user, who could change what is in it. Raises OSError."""
    return folder.stat().st_uid != os.geteuid()


def check_own(folder: Path) -> None:
    """Make sure that only this user can write to a folder; take others' permission from a folder of this user's.

    Raises:
        PermissionError: it belongs to another user.
        OSError: there is no such folder, or its permissions can't be changed.
    """
    if is_foreign(folder):
        raise PermissionError(errno.EPERM, "it belongs to another user", str(folder))
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o022:
        folder.chmod(mode & ~0o022)


def ensure_own(folder: Path) -> Path:
    """Create a folder in the state folder as `ensure_private` does, check both as `check_own` does, and return it."""
    for each in (state_dir(), folder):
        check_own(ensure_private(each))
    return folder


def working_folder() -> Path:
    """Return the folder that a command runs in. Raises HoldfastError if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise HoldfastError("the folder that you are in was deleted; change to another, such as with `cd`") from error


def find_root(explicit: str | None, env: Mapping[str, str], cwd: Path) -> Path:
    """Return the real path of the project that a command is about.

    The first of these counts: `explicit` (--project), HOLDFAST_PROJECT_DIR, CLAUDE_PROJECT_DIR, the nearest folder from
    `cwd` upward that holds `.claude` or `.git` (the home folder's `.claude` is the user's, not a project's), `cwd`.
    Raises HoldfastError if a named folder doesn't exist, so that state never lands elsewhere unnoticed.
    """
    named = [("--project", explicit)]
    named += [(name, env.get(name)) for name in ("HOLDFAST_PROJECT_DIR", "CLAUDE_PROJECT_DIR")]
    for source, text in named:
        if text:
            return _named_root(source, cwd / text)
    start = cwd.resolve()
    return next((folder for folder in (start, *start.parents) if _is_project(folder)), start)


def real_root(named: str) -> str:
    """Return the real path of a project's root that the client named.

    Empty if the name is longer than a path can be, because resolving its missing parts would take seconds.
    """
    return os.path.realpath(named) if len(os.fsencode(named)) < PATH_LIMIT_BYTES else ""


def _named_root(source: str, folder: Path) -> Path:
    if not folder.is_dir():
        raise HoldfastError(f"{source} names {folder}, which is not a folder")
    return folder.resolve()


def _is_project(folder: Path) -> bool:
    if (folder / ".git").exists():
        return True
    return (folder / ".claude").is_dir() and folder != Path.home().resolve()
