"""What is left of a session at a silo that has ended it: nothing."""

import pytest

from siloseal.federation.errors import ProtocolError, WrongRound
from siloseal.federation.sums.envelope import wrap
from siloseal.federation.sums.secure_sum import SiloSide
from tests.federation.sums.recorded import Recorded


def require_ended(parties: Recorded, side: SiloSide, silo: str) -> None:
    """The silo has kept nothing, and answers nothing: neither it, nor a fresh object that takes up its state."""
    never_began, fresh = parties.side(silo), parties.side(silo)
    never_began.forget()
    assert side.state() == never_began.state()
    fresh.restore(side.state())
    for each in (side, fresh):
        for asked in parties.asked:
            if silo in asked:
                with pytest.raises(WrongRound):
                    each.answer(asked[silo])


def require_refused(
    parties: Recorded,
    silo: str,
    number: int,
    body: bytes,
    error: type[ProtocolError] | tuple[type[ProtocolError], ...],
) -> None:
    """The silo refuses to be told this in a round, and everything after it, the right message included."""
    side = parties.restored(silo, number)
    with pytest.raises(error):
        side.answer(wrap(parties.session, round=2 * number, body=body))
    require_ended(parties, side, silo)
