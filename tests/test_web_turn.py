from dataclasses import replace
from datetime import UTC, datetime

import pytest

from paper_qa.domain import Withheld
from paper_qa.user_data.conversations import Exchange
from paper_qa.user_data.serial import Serial
from paper_qa.web.panel import panel_html
from paper_qa.web.present import message, status
from paper_qa.web.turn import TurnView, advance, exchange_of, turn_of
from scripted_qa import play, reference_to
from web_papers import GRAPHS, PAPERS, VIDEO, claims

AT = datetime(2024, 5, 3, 12, 30, tzinfo=UTC)


def turn_after(num_events: int | None = None, **fields: object) -> TurnView:
    turn = TurnView("How?", stage="Searching", asked_at=AT)
    given = play("How?", PAPERS, fields.pop("claims", claims()), **fields)
    for event in given[:num_events]:
        turn = advance(turn, event)
    return turn


def kept(turn: TurnView) -> TurnView:
    """Return the turn as it comes back from the file."""
    serial = Serial(Exchange)
    exchange = serial.read(serial.write(exchange_of(turn)))
    assert exchange
    return turn_of(exchange)


ABSTAINED = turn_after(
    claims=[],
    text="The abstracts do not say.",
    abstained=True,
    abstain_reason="not_in_abstract",
    see=(reference_to(GRAPHS, 0),),
)


@pytest.mark.parametrize(
    "turn",
    [
        turn_after(),
        turn_after(model="gpt-x", withheld=(Withheld("Twice.", 0.1),), notes=("a note",)),
        ABSTAINED,
        TurnView("How?", model="", error="the disk is full", asked_at=AT),
        TurnView("How?", model="", stopped=True, asked_at=AT),
    ],
)
def test_a_turn_comes_back_as_it_was(turn: TurnView) -> None:
    assert kept(turn) == turn


@pytest.mark.parametrize("end", [{"stopped": True}, {"error": "the endpoint broke off"}])
def test_what_was_cut_short_comes_back_with_what_had_come(end: dict[str, object]) -> None:
    turn = replace(turn_after(4), stage="", **end)

    back = kept(turn)

    assert back.claims == (claims()[0],)
    assert message(back) == message(turn)
    assert status(back) == status(turn)
    assert 'id="src-0-1"' in panel_html([back])
    assert 'id="src-0-2"' not in panel_html([back])


def test_what_was_cut_short_names_what_it_cites_for_those_who_take_it_away() -> None:
    answer = exchange_of(replace(turn_after(4), stage="", stopped=True)).answer

    assert answer
    assert answer.text.endswith("[1].")
    assert answer.references == (reference_to(VIDEO, 1),)


def test_a_turn_keeps_its_name_and_time() -> None:
    turn = turn_after()

    assert (kept(turn).id, kept(turn).asked_at) == (turn.id, AT)
    assert turn_after().id != turn.id
