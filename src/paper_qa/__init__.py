"""Ask a collection of paper abstracts, and get answers with checked citations."""
