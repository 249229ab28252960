"""A query's progress as a message, and back from a message that may be hostile."""

import math
from collections.abc import Sequence

from siloseal.federation.analytics.query import NoisyTotal, Progress, Query
from siloseal.federation.errors import MessageError, WrongRound
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import from_array, to_array


def query_message(number: int, progress: Progress) -> pb.Query:
    """The request for the release that follows this progress of the query with this number."""
    totals = [pb.Total(values=to_array(total.values), spread=total.spread) for total in progress.totals]
    return pb.Query(number=number, totals=totals)


def received_progress(query: Query, totals: Sequence[pb.Total], before: Progress) -> Progress:
    """The progress that the totals stand for, or a typed error: each must be as long as its release was."""
    progress = before
    for total in totals:
        if query.finished(progress):
            raise WrongRound(f"{query.title} was asked for with more totals than it has releases")
        if not (math.isfinite(total.spread) and total.spread >= 0):
            raise MessageError(f"a total of {query.title} came with a spread of {total.spread}, expected 0 or more")
        values = from_array(total.values, dtype="<f8", length=query.length(progress))
        progress = progress.after(NoisyTotal(values, total.spread))
    return progress
