"""``python -m paper_qa`` is ``paper-qa``."""

from paper_qa.cli import main

if __name__ == "__main__":
    main()
