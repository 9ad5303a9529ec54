"""Answers that the library gives by itself: counted and listed, never by a language model."""

from paper_qa.computed.answers import Computed, compute
from paper_qa.computed.asking import understand_request
from paper_qa.computed.request import DetailRequest, PapersRequest

__all__ = ["Computed", "DetailRequest", "PapersRequest", "compute", "understand_request"]
