"""What every test starts from: a clean environment, an empty folder, no way off this machine."""

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SHARED = PROJECT.parent / "shared"


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings and keys of whoever runs the tests, and leave their folder."""
    for name in list(os.environ):
        if name.startswith(("PAPER_QA_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PAPER_QA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shared() -> Path:
    """Return the folder of benchmark files beside the project, or skip."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the benchmark files in {SHARED}, which are not in the repository")
    return SHARED
