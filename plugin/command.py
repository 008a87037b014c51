"""The command line of a plugin copy, started by `bin/holdfast` with the plugin's own environment."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.argv[0] = "holdfast"

from holdfast.cli import main  # noqa: E402 - the package lies in the plugin's own folder

sys.exit(main())
