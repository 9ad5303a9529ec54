#!/bin/sh
# Build the wheel, install it alone in a clean venv, and ask it a question from an empty folder.
set -eu
python=$PWD/.venv/bin/python
constraints=$PWD/constraints.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --build-constraint "$constraints" \
    --wheel-dir "$folder" .
"$python" -m venv --without-pip "$folder/venv"
"$python" -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check \
    --no-compile --constraint "$constraints" "$folder"/*.whl

cd "$folder"
answer=$(PAPER_QA_HOME=$folder/home PAPER_QA_LLM=extractive venv/bin/paper-qa ask \
    "How does Momentor get its training data?")
echo "$answer"
case $answer in
*"[1]"*Momentor*) echo "the wheel answers" ;;
*) echo "error: the wheel gives no cited answer" >&2 && exit 1 ;;
esac
