"""How many processor cores this process may really use."""

import math
import os
from pathlib import Path

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # Linux, cgroup 2: "max 100000" or "150000 100000"


def available_cores() -> int:
    """Count the cores that this process may use: those allowed to it, and no more than its quota.

    In a container the machine's number of cores says nothing about either.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, _quota(_CGROUP_QUOTA)))


def _quota(path: Path) -> int:
    """Return the whole cores of a quota, rounded up; without one, more than any machine has."""
    no_limit = 1 << 16
    try:
        quota, _, period = path.read_text().partition(" ")
        return no_limit if quota == "max" else math.ceil(int(quota) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return no_limit
