"""Pages that quote who learns what from a sum say what the schemes' `exposure` says."""

import re

from siloseal.report.exposure_table import exposures

from .pages import ROOT

RESULTS = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")


def test_the_published_comparison_prints_the_exposure_of_today() -> None:
    table = RESULTS.split("### Who learns what")[1].split("\n\n")[1]
    quoted = {tuple(re.split(r" \| ", line.strip("| "))[1:4]) for line in table.splitlines()[2:]}
    exposed = {(one.aggregator_learns, one.colluders, one.assumes or "nothing") for one in exposures().values()}
    assert quoted == exposed
