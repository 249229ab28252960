"""The answer to one query: figures with their intervals. Terminal and report show it."""

from siloseal.federation.analytics.query import Answer, Estimate
from siloseal.report.document import Table


def answer_table(answer: Answer) -> Table:
    """One row a figure."""
    rows = tuple(
        (estimate.name, "-" if estimate.value is None else _figure(estimate.value), _interval(estimate), estimate.note)
        for estimate in answer.estimates
    )
    return Table(answer.query, ("", "estimate", "95 % interval", "note"), rows, numbers=(1, 2))


def _interval(estimate: Estimate) -> str:
    return f"{_figure(estimate.low)} to {_figure(estimate.high)}"


def _figure(value: float) -> str:
    """The number in words: whole from a hundred on, with four digits below."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"
