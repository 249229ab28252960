"""The answer to a query as a table: figures are rounded as a reader needs them, and a hidden one is not shown."""

from siloseal.federation.analytics.query import Answer, Estimate
from siloseal.report.answer_table import answer_table


def test_a_figure_has_its_interval_and_as_many_digits_as_tell_something() -> None:
    estimates = (
        Estimate(name="mean", value=36.61234, low=36.0, high=37.25119),
        Estimate(name="records", value=12345.6, low=-99.94, high=100.4, note="clipped"),
    )
    table = answer_table(Answer(query="mean of age", estimates=estimates))
    assert table.rows == (
        ("mean", "36.61", "36 to 37.25", ""),
        ("records", "12,346", "-99.94 to 100", "clipped"),
    )


def test_a_figure_that_the_noise_hides_is_not_shown_and_its_interval_is() -> None:
    hidden = Estimate(name="quartile", value=None, low=0.0, high=120.0)
    ((name, value, interval, _),) = answer_table(Answer(query="quantiles of age", estimates=(hidden,))).rows
    assert (name, value, interval) == ("quartile", "-", "0 to 120")
