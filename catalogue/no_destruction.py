"""Refuses commands that destroy files, disks, databases or services, and shells that run what they download.

`rm -rf` is for what a build makes (`disposable`). `rm -r` of anything else asks you.
Where a command can't be read well enough to tell, it asks you.

Known evasions: scripts and programs that delete, other languages (`python -c`), aliases, deleting file by file.

Cost: about 11 ms for a command with pipes, 5 ms for plain words.
"""

import re
import shlex
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from pydantic import BaseModel

from holdfast import Context, Outcome, ask, deny, hookimpl, matches
from holdfast.events import Command, PreToolUse

DEVICE = re.compile(r"(?:of=)?/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/|dm-)")
DELETED = re.compile(r"\b(?:drop\s+(?:table|database|schema)|truncate\s|delete\s+from\s+\S+\s*(?:;|$))", re.IGNORECASE)
SQL = ("psql", "mysql", "mariadb", "sqlite3")
SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "source", ".")


class Options(BaseModel):
    """What is refused: `commands`. What may be removed with all that is in it: `disposable` (globs)."""

    commands: list[str] = [
        *("mkfs*", "wipefs", "shred", "lvremove", "vgremove", "pvremove", "chmod 777", "crontab -r"),
        *("shutdown", "reboot", "halt", "poweroff", "kill -9 -1", "kill -KILL -1", "kill -- -1"),
        *("dropdb", "redis-cli flushall", "php artisan migrate:fresh", "supabase db reset", "pnpm supabase db reset"),
        *("npx supabase db reset", "curl -X DELETE */_all", "docker system prune", "docker volume rm"),
        *("docker volume prune", "docker rm -f", "aws s3 rm --recursive", "aws ec2 terminate-instances"),
        *("aws cloudformation delete-stack", "gh repo delete", "kubectl delete namespace", "kubectl delete --all"),
        *("terraform destroy", "vault kv metadata delete", "restic forget --prune", "rsync --delete*"),
        *("nc -e", "ncat -e", "tar --checkpoint-action=*"),
    ]
    disposable: list[str] = [
        *("build", "dist", "out", "target", "_build", "coverage", "htmlcov", "node_modules", "package-lock.json"),
        *("__pycache__", "*.pyc", "*.egg-info", ".tox", ".venv", "venv", ".*_cache", ".cache", ".next", ".turbo"),
        *("/tmp/*", "/private/tmp/*", "/var/tmp/*"),
    ]


@hookimpl(
    match="shell",
    on_failure="ask",
    examples={
        "rm -rf ~": "deny",
        "sudo rm -rf /etc/app": "deny",
        "mkfs.ext4 /dev/sda1": "deny",
        "rm -rf src": "deny",
        "rm -r src": "ask",
        "$X -rf /": "ask",
        "rm -rf node_modules": None,
        "rm notes.txt": None,
    },
)
def on_pre_tool_use(event: PreToolUse, context: Context, options: Options) -> Outcome | None:
    """Refuse what destroys."""
    doubt = False
    for command in event.commands:
        found = [command.runs(*shlex.split(each)) for each in options.commands]
        found += [overwrites(command), runs_unread_text(command), removes(event, command, context.root, options)]
        if True in found:
            return deny(f"`{' '.join(command.argv)}` destroys what can't be brought back, or runs what nobody has read")
        doubt |= None in found
    return ask("This command may destroy something: check what it does") if doubt else None


def overwrites(command: Command) -> bool:
    """Return whether a command overwrites a disk, deletes all rows, or starts itself over and over."""
    words = command.argv if command.program in ("dd", "cp", "mv", "tee") else ()
    itself = "function" in command.inside and command.stdin and command.stdin.program == command.program
    deletes = command.program in SQL and any(map(DELETED.search, command.argv))
    return bool(itself or deletes or any(map(DEVICE.match, (*words, *command.writes))))


def runs_unread_text(command: Command) -> bool | None:
    """Return whether a shell runs what it downloads, or waits for commands; None if it runs a text nobody can read."""
    if command.program not in SHELLS or command.sure:
        return command.program in SHELLS and len(command.argv) == 1 and command.inside[-1:] == ("find -exec",)
    words, source = [*command.argv, *command.reads], command.stdin
    while source:
        words, source = [*words, *source.argv], source.stdin
    if re.search(r"\b(?:curl|wget)\b", " ".join(words)):
        return True
    return None if not command.unknown or "xargs" in command.inside or "<(" in " ".join(words) else False


def removes(event: PreToolUse, command: Command, root: Path, options: Options) -> bool | None:
    """Return whether a command removes, moves or takes over what matters; None if it may."""
    program, words = command.program, command.argv[1:]
    whole = any(re.fullmatch(r"-\w*[rR]\w*|--recursive", each) for each in words)
    readers = {each.program for each in event.commands if each.stdin is command}
    filtered = program == "find" and {"-name", "-iname", "-path", "-regex"} & {*words}
    if program == "find" and {"-delete", "rm", "unlink"} & {*words, *readers}:
        words, whole = tuple(takewhile(lambda each: each[:1] not in "-(!", words)), True
    elif program == "mv":
        words, whole = words[:-1], False
    elif program not in ("rm", "unlink") and not (whole and program in ("chmod", "chown", "chgrp")):
        return False
    named = event.paths_of(replace(command, argv=(program, *words), reads=(), writes=()))
    paths = [each.parent if each.name in ("*", ".*") else each for each in named]
    paths = [each for each in paths if not (filtered and each.is_relative_to(root))]
    own = () if program[:2] == "ch" else (root, Path(event.cwd), Path.home())
    if any((len(each.parts) <= 2 and each != root) or any(one.is_relative_to(each) for one in own) for each in paths):
        return True
    if program in ("rm", "find") and whole and not all(disposable(each, root, options.disposable) for each in paths):
        return True if program == "find" or command.runs("rm", "-f") or "--force" in words else None
    unread = {"xargs", "find -exec"} & {*command.inside} or re.search("[$`<]", " ".join(words))
    return None if program in ("rm", "unlink") and (unread or command.folder is None) else False


def disposable(path: Path, root: Path, globs: list[str]) -> bool:
    """Return whether a folder may be removed: in the project by its name, elsewhere by its whole path."""
    if path.is_relative_to(root):
        return matches(globs, path.relative_to(root))
    return matches([each for each in globs if each.startswith("/")], path)
