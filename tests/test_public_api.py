import subprocess
import sys
from types import ModuleType

import pytest

import paper_qa
from paper_qa import domain, errors

HEAVY = {
    "chromadb",
    "gradio",
    "llama_index",
    "numpy",
    "onnxruntime",
    "openai",
    "pydantic",
    "rich",
    "tokenizers",
}


def public_names(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
        and isinstance(value, type)
        and not name.startswith("_")
    }


def modules_after(statement: str) -> set[str]:
    """Return the top-level modules that are loaded once a fresh Python has run the statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout.split()
    )


def test_all_is_exactly_the_public_names() -> None:
    expected = {
        *public_names(domain) - {"Passage"},  # how papers are embedded is our business
        *public_names(errors),
        "AddReport",
        "Event",
        "PaperQA",
        "Settings",
        "load_settings",
    }

    assert set(paper_qa.__all__) == expected
    assert paper_qa.__all__ == sorted(paper_qa.__all__)
    assert dir(paper_qa) == paper_qa.__all__


def test_every_public_name_can_be_imported() -> None:
    for name in paper_qa.__all__:
        assert getattr(paper_qa, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PaperQa'"):
        _ = paper_qa.PaperQa  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("statement", ["import paper_qa", "import paper_qa.cli"])
def test_a_light_import_stays_light(statement: str) -> None:
    assert modules_after(statement).isdisjoint(HEAVY)


def test_settings_do_not_load_what_they_configure() -> None:
    loaded = modules_after("from paper_qa import load_settings; load_settings()")

    assert loaded.isdisjoint(HEAVY - {"pydantic"})
