"""A query's progress as a message, and back from a message that may be hostile."""

import math
from collections.abc import Sequence

import numpy as np

from siloseal.federation.analytics.query import NoisyTotal, Progress, Query
from siloseal.federation.errors import MessageError, WrongRound
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import from_array, to_array

LARGEST_TOTAL = 2.0**53
"""Whole numbers up to this one are exact in double precision; a larger total is no sum of counts."""


def query_message(number: int, progress: Progress) -> pb.Query:
    """The request for the release that follows this progress of the query with this number."""
    totals = [pb.Total(values=to_array(total.values), spread=total.spread) for total in progress.totals]
    return pb.Query(number=number, totals=totals)


def received_progress(query: Query, totals: Sequence[pb.Total], before: Progress, spreads: Sequence[float]) -> Progress:
    """The progress that the totals stand for, or a typed error.

    Each must be as long as its release was, with a spread that some number of contributors gives, and with entries
    that a sum of counts can have. What an aggregator invents within that steers what is counted next; it costs no
    more.
    """
    progress = before
    for total in totals:
        if query.finished(progress):
            raise WrongRound(f"{query.title} was asked for with more totals than it has releases")
        if not any(math.isclose(total.spread, spread, rel_tol=1e-9) for spread in spreads):
            raise MessageError(f"a total of {query.title} came with a spread of {total.spread}, which none can have")
        values = from_array(total.values, dtype="<f8", length=query.length(progress))
        if np.abs(values).max(initial=0.0) > LARGEST_TOTAL:
            raise MessageError(
                f"a total of {query.title} came with entries above {LARGEST_TOTAL:g}, which none can have"
            )
        progress = progress.after(NoisyTotal(values, total.spread))
    return progress
