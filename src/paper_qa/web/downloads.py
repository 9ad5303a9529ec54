"""Addresses from which a person downloads what is theirs, and the BibTeX of a paper."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response

from paper_qa.bibtex import entry
from paper_qa.domain import Paper
from paper_qa.user_data import (
    UnknownItemError,
    UserData,
    conversation_bibtex,
    conversation_json,
    conversation_markdown,
    evaluation_file,
    file_name,
    reading_list_bibtex,
    reading_list_markdown,
)
from paper_qa.web.security import owner_in

_TYPES = {
    "md": "text/markdown",
    "json": "application/json",
    "bib": "application/x-bibtex",
    "jsonl": "application/jsonl",
}
_CONVERSATION = {
    "md": conversation_markdown,
    "json": conversation_json,
    "bib": conversation_bibtex,
}
_READING_LIST = {"md": reading_list_markdown, "bib": reading_list_bibtex}
_NOT_FOUND = PlainTextResponse("There is nothing of yours here", 404)


def router(data: UserData, paper: Callable[[str], Paper]) -> APIRouter:
    """Return the routes; each one knows the person by the cookie."""
    routes = APIRouter(prefix="/export", default_response_class=PlainTextResponse)

    @routes.get("/conversation/{conversation_id}.{suffix}")
    def conversation(request: Request, conversation_id: str, suffix: str) -> Response:
        if suffix not in _CONVERSATION:
            return _NOT_FOUND
        found = data.conversation(owner_of(request), conversation_id)
        return _file(_CONVERSATION[suffix](found), found.title, suffix)

    @routes.get("/reading-list.{suffix}")
    def reading_list(request: Request, suffix: str) -> Response:
        if suffix not in _READING_LIST:
            return _NOT_FOUND
        saved = data.reading_list(owner_of(request))
        return _file(_READING_LIST[suffix](saved), "reading list", suffix)

    @routes.get("/feedback.jsonl")
    def feedback(request: Request) -> Response:
        given = data.feedback(owner_of(request))
        return _file(evaluation_file(given, verdicts=("up", "down")), "feedback", "jsonl")

    @routes.get("/paper.bib")
    def bibtex(paper_id: Annotated[str, Query(alias="id")]) -> Response:
        return _file(entry(paper(paper_id)), paper_id, "bib")

    @routes.get("/{path:path}")
    def nothing(path: str) -> Response:  # noqa: ARG001 - whatever it is
        return _NOT_FOUND

    return routes


def not_found(_request: Request, _error: Exception) -> Response:
    """Answer where something is not there, or is another's; which of the two is not told."""
    return _NOT_FOUND


def owner_of(request: Request) -> str:
    """Return the owner by the cookie; without one, nothing is theirs."""
    owner = owner_in(request.headers.get("cookie", ""))
    if not owner:
        raise UnknownItemError("no owner")
    return owner


def _file(content: str, title: str, suffix: str) -> Response:
    name = file_name(title, suffix)
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "no-store",
    }
    return Response(content, media_type=f"{_TYPES[suffix]}; charset=utf-8", headers=headers)
