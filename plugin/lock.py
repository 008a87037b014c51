"""Write requirements.txt: the runtime dependencies of pyproject.toml, locked for every platform, with hashes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Resolve with the uv beside this interpreter. Without `--upgrade`, locked versions stay if they still fit."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    target = ROOT / "plugin" / "requirements.txt"
    command = [str(Path(sys.executable).with_name("uv")), "--no-config", "pip", "compile", "--universal", "--quiet"]
    command += ["--python-version", project["requires-python"].removeprefix(">=")]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += ["--constraints", str(target)] if target.exists() and "--upgrade" not in sys.argv else []
    wishes = "\n".join(project["dependencies"])
    done = subprocess.run([*command, "-"], input=wishes, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    body = f"# locks {', '.join(project['dependencies'])}; make plugin writes it\n{done.stdout}"
    digest = hashlib.sha256(body.encode()).hexdigest()[:12]
    target.write_text(f"# environment {digest}\n{body}", "utf-8")


if __name__ == "__main__":
    main()
