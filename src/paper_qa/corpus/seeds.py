"""The seeds: the folder of text files that a new library starts with."""

from importlib import resources
from pathlib import Path

from paper_qa.corpus.normalize import content_key, merge_papers
from paper_qa.corpus.text import read_metadata, read_text_file
from paper_qa.domain import Paper
from paper_qa.errors import LibraryError


def seeds_folder() -> Path:
    """Return the seeds that came with the package, or those of the checkout it runs from.

    Raises:
        LibraryError: there are none.
    """
    packaged = Path(str(resources.files("paper_qa"))) / "seeds"
    checkout = Path(__file__).parents[3] / "seeds"
    for folder in (packaged, checkout):
        if folder.is_dir():
            return folder
    raise LibraryError(f"the seeds are missing from {str(packaged)!r}; install the package again")


def read_seeds(folder: Path) -> list[Paper]:
    """Return the papers of all text files in a folder, each once, with every place it is in.

    Raises:
        LibraryError: the folder is missing, can't be read, or has no text file.
        FormatError: a file in it is not a text file of abstracts.
    """
    paths = _text_files(folder)
    metadata = read_metadata(folder)
    papers: dict[str, Paper] = {}
    for path in paths:
        for paper in read_text_file(path, metadata):
            key = content_key(paper.title, paper.abstract)
            papers[key] = merge_papers(papers[key], paper) if key in papers else paper
    return list(papers.values())


def _text_files(folder: Path) -> list[Path]:
    advice = "give a folder of text files, one abstract per paragraph"
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError as error:
        raise LibraryError(f"the seeds folder {str(folder)!r} is missing; {advice}") from error
    except OSError as error:
        why = f"can't be read ({error.strerror})"
        raise LibraryError(f"the seeds folder {str(folder)!r} {why}; {advice}") from error
    texts = [
        path for path in paths if path.suffix.lower() == ".txt" and not path.name.startswith(".")
    ]
    if not texts:
        raise LibraryError(f"the seeds folder {str(folder)!r} has no text file; {advice}")
    return texts
