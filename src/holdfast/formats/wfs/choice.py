"""Values that the `wfs` format derives: a session's complexity, a task's type, the agent that works on it."""

from __future__ import annotations

import re
from typing import Literal

Complexity = Literal["simple", "medium", "complex"]
COMPLEXITIES: tuple[Complexity, ...] = ("simple", "medium", "complex")
"""The types of a session, in ascending order."""
TYPES = ("feature", "bugfix", "refactor", "test-gen", "test-fix", "docs")
"""The types of a task (R002-20)."""
PLANNER, DEVELOPER, TESTER, GENERAL = "@action-planning-agent", "@code-developer", "@test-fix-agent", "@general-purpose"
AGENTS = (DEVELOPER, PLANNER, TESTER, GENERAL)
"""The agents that the document knows (R002-21). Others are possible, and reported as unknown."""

_MEDIUM, _COMPLEX = 5, 16  # leaf tasks from which a session is medium or complex (R002-41, I002-21)
_TESTS = r"(?:unit |integration |e2e |end-to-end |regression |acceptance )?tests?"
_TYPE_WORDS = (
    ("test-fix", rf"\b(?:run|execute|fix|repair|stabili[sz]e|debug)\b.*\b{_TESTS}\b|\b(?:failing|flaky)\b"),
    ("test-gen", rf"\b(?:write|add|create|generate|cover|extend)\b.*\b{_TESTS}\b|\btest coverage\b"),
    ("docs", r"\b(?:document|documentation|docs|readme|changelog|docstrings?)\b"),
    ("bugfix", r"\b(?:fix|bug|bugfix|hotfix|repair|regression|crash)\b"),
    ("refactor", r"\b(?:refactor\w*|restructure|clean ?up|rename|extract|simplify|deduplicate)\b"),
)
_PLANNING = re.compile(
    r"\b(?:plan|planning|design|architecture|architect|break ?down|decompose|roadmap|specify)\b", re.IGNORECASE
)
_REVIEW = re.compile(r"^\W*(?:code )?(?:review|audit)\b", re.IGNORECASE)


def complexity(leaves: int) -> Complexity:
    """Return a session's complexity by its number of leaf tasks: simple below 5, complex above 15 (R002-41)."""
    return "complex" if leaves >= _COMPLEX else "medium" if leaves >= _MEDIUM else "simple"


def upgraded(now: str, leaves: int) -> str:
    """Return a session's type for its number of leaf tasks, never a lower one than now (R002-42).

    A type that the document doesn't know stays.
    """
    wanted = complexity(leaves)
    if now and now not in COMPLEXITIES:
        return now
    return wanted if not now or COMPLEXITIES.index(wanted) > COMPLEXITIES.index(now) else now


def type_of(title: str) -> str:
    """Return a task's type by its title, `feature` by default.

    "Run …/fix … tests" is test-fix and "write … tests" is test-gen. Words for documentation mean docs, for bugs bugfix,
    for tidying refactor. The first of these types that matches counts.
    """
    return next((name for name, words in _TYPE_WORDS if re.search(words, title, re.IGNORECASE)), "feature")


def agent_of(kind: str, title: str) -> str:
    """Return the agent for a task (R002-43, I002-20).

    | what the task is | agent |
    |---|---|
    | its title begins with review or audit | @general-purpose |
    | its type is test-fix | @test-fix-agent |
    | its title has plan, design, architecture, break down, decompose, roadmap, specify, and its type is a feature | \
@action-planning-agent |
    | all others: code and its tests | @code-developer |

    Args:
        kind: the task's type.
        title: the task's title.
    """
    if _REVIEW.search(title):
        return GENERAL
    if kind == "test-fix":
        return TESTER
    return PLANNER if kind in ("feature", "") and _PLANNING.search(title) else DEVELOPER


def at(agent: str) -> str:
    """Return an agent's name as the document writes it, with a leading @; empty for none."""
    return agent if not agent or agent.startswith("@") else f"@{agent}"
