"""The shell, ``paper-qa``: it reads arguments, calls PaperQA, and writes text or JSON.

Nothing that takes long to import is imported before a command needs it.
"""

from paper_qa.cli.app import main

__all__ = ["main"]
