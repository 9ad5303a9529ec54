"""The conversations of a person, as the list beside the chat."""

import html
from collections.abc import Sequence
from urllib.parse import quote, unquote

from paper_qa.user_data import ConversationHead
from paper_qa.web.maths import inline_html

_EMPTY = '<div class="nothing">What you ask is kept here.</div>'
_NOT_FOUND = '<div class="nothing found">No conversation has these words.</div>'
_FORMATS = (("md", "Markdown"), ("json", "JSON"), ("bib", "BibTeX"))


def talks_html(
    heads: Sequence[ConversationHead], current: str = "", *, is_search: bool = False
) -> str:
    """Return the list, newest first, the conversation that is open marked."""
    if not heads:
        return _NOT_FOUND if is_search else _EMPTY
    items = "".join(_item(head, is_current=head.id == current) for head in heads)
    kind = "talks found" if is_search else "talks"
    return f'<ul class="{kind}">{items}</ul>'


def _item(head: ConversationHead, *, is_current: bool) -> str:
    name = inline_html(head.title)
    count = f"{head.num_exchanges} question{'' if head.num_exchanges == 1 else 's'}"
    when = f"{head.updated_at:%d %b %Y}, {count}"
    kind = ' class="current"' if is_current else ""
    return (
        f'<li{kind}><a class="act" href="{action("open", head.id)}">{name}</a>'
        f'<span class="when">{html.escape(when)}</span></li>'
    )


def exports_html(conversation_id: str) -> str:
    """Return links that download a conversation."""
    if not conversation_id:
        return ""
    links = " · ".join(
        f'<a href="/export/conversation/{quote(conversation_id)}.{suffix}">{name}</a>'
        for suffix, name in _FORMATS
    )
    return f'<div class="exports">Download: {links}</div>'


def action(verb: str, subject: str = "") -> str:
    """Return the address of a link that the page's script turns into an action of the person's."""
    return html.escape(f"#act/{verb}/{quote(subject, safe='')}")


def parsed(command: str) -> tuple[str, str]:
    """Take apart what the script sends for such a link: the verb, and its subject."""
    verb, _, rest = command.partition("/")
    return verb, unquote(rest.partition("/")[0])
