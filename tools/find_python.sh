#!/bin/sh
# Print the first Python on the PATH that can run the project: 3.11 or newer, with venv, pip and
# SQLite's full-text search. The lock was resolved on the first ones of the list.

for name in python3.11 python3.12 python3.13 python3 python; do
    if "$name" - >/dev/null 2>&1 <<'CHECK'
import ensurepip, sqlite3, sys, venv
assert sys.version_info >= (3, 11)
sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE papers USING fts5(title)")
CHECK
    then
        command -v "$name"
        exit 0
    fi
done
echo "error: no Python 3.11 or newer with venv and SQLite FTS5 on the PATH:" \
    "install one (on Debian and Ubuntu: apt-get install python3-venv), or run make PYTHON=/path/to/python" >&2
exit 1
