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


def keep_numpy_to_one_thread() -> None:
    """Have numpy, which must not be loaded yet, multiply matrices on one thread.

    Those of this program are small: a second thread would do nothing but wait for the first, which
    took as much of a core again. What the environment says already is left as it is.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - set here, not read


def _quota(path: Path) -> int:
    """Return the whole cores of a quota, rounded up; without one, more than any machine has."""
    no_limit = 1 << 16
    try:
        quota, _, period = path.read_text().partition(" ")
        return no_limit if quota == "max" else math.ceil(int(quota) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return no_limit
