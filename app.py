"""Open the chat: ``python app.py``, or wherever an ``app.py`` is what a host starts."""

import sys

from paper_qa.cli import main

if __name__ == "__main__":
    main(["serve", *sys.argv[1:]])
