import os
from pathlib import Path

import pytest

from paper_qa.cores import _quota, available_cores


@pytest.mark.parametrize(
    ("written", "cores"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("100000 100000\n", 1),
        ("5000 100000\n", 1),
        ("350000 50000", 7),
    ],
)
def test_a_quota_is_rounded_up_to_whole_cores(tmp_path: Path, written: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(written)

    assert _quota(tmp_path / "cpu.max") == cores


@pytest.mark.parametrize("written", ["max 100000\n", "max", "", "-", "100000", "1 0\n", "a b\n"])
def test_what_is_no_quota_limits_nothing(tmp_path: Path, written: str) -> None:
    (tmp_path / "cpu.max").write_text(written)

    assert _quota(tmp_path / "cpu.max") > 1000


def test_a_system_without_the_file_has_no_quota(tmp_path: Path) -> None:
    assert _quota(tmp_path / "cpu.max") > 1000
    assert _quota(tmp_path) > 1000


def test_there_is_a_core_and_no_more_than_the_machine_has() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's affinity")
def test_a_process_that_is_kept_on_one_core_has_one() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
