"""Plant bugs in the source and show which of them the tests find.

    python -m tools.mutants                         100 bugs drawn with seed 37 and those of chosen.toml
    python -m tools.mutants d007 a12                only these
    python -m tools.mutants --below handlers        draw only there
    python -m tools.mutants --show                  print them, run nothing
    python -m tools.mutants --tests tests/contract  only what these tests find, of those that reach a changed line

The first run takes twice the time of all tests: it notes which tests reach a line. It works in `.mutants/`, on HEAD.
"""

from __future__ import annotations

from pathlib import Path

import click

from tools.mutants import bug, drawing, running

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = Path(__file__).with_name("chosen.toml")


@click.command(help=__doc__.split("\n", 1)[0])
@click.argument("ids", nargs=-1)
@click.option("--seed", default=37, help="What the bugs are drawn with.", show_default=True)
@click.option("--count", default=100, help="How many are drawn.", show_default=True)
@click.option("--below", multiple=True, help="Draw only in files whose path begins so. May be given several times.")
@click.option("--chosen", type=click.Path(path_type=Path), default=CHOSEN, help="A file like chosen.toml.")
@click.option("--show", is_flag=True, help="Print the bugs and run nothing.")
@click.option("--tests", multiple=True, help="Run only tests below this path. May be given several times.")
@click.option("--seconds", default=90.0, help="How long the tests of one bug may take together.", show_default=True)
def command(
    ids: tuple[str, ...],
    seed: int,
    count: int,
    below: tuple[str, ...],
    chosen: Path,
    show: bool,
    tests: tuple[str, ...],
    seconds: float,
) -> None:
    """Go through the bugs and print for each the first test that fails with it."""
    all_bugs = [*drawing.draw(ROOT, seed, count, below), *bug.chosen(ROOT, chosen)]
    bugs = [each for each in all_bugs if not ids or each.id in ids]
    if show:
        click.echo("\n".join(map(str, bugs)))
        return
    tree = running.Tree(ROOT / ".mutants" / "tree", "HEAD")
    coverage = tree.coverage(["tests", "tools"])
    found = 0
    for each in bugs:
        reaching = [name for name in coverage.reaching(each) if not tests or name.startswith(tests)]
        afforded = coverage.cheapest(reaching, seconds)
        killer = tree.killer([each], afforded) if afforded else ""
        found += bool(killer)
        left = len(reaching) - len(afforded)
        click.echo(f"{each.id} {each.file}: {killer or f'not found; {left} tests that reach it were not run'}")
    click.echo(f"{found} of {len(bugs)} found")


if __name__ == "__main__":
    command(prog_name="python -m tools.mutants")
