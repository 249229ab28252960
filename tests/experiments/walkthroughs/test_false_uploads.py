"""False uploads are what notebook 2 says: well signed, and either refused, noticed at the opening, or in the sum."""

import numpy as np
import pytest

from siloseal.experiments.sum_table import Table
from siloseal.experiments.walkthroughs.false_uploads import altered, copied, uniform
from siloseal.federation.errors import OpeningFailed, UploadCopied
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.session import IntegerDomain

DOMAIN = IntegerDomain(500, 2**10)
VECTORS = {name: np.full(500, number, dtype=np.int64) for number, name in enumerate(("n", "e", "s", "w"), start=1)}
PARAMETERS = CkksSum().parameters(DOMAIN, len(VECTORS))


class Cheating(Table):
    """A table at which w's upload can be exchanged."""

    def answer(self) -> dict[str, bytes]:
        """Everyone's upload, before the aggregator has seen any."""
        for _ in range(2):
            self.next_round()
        return {name: self.silos[name].answer(message) for name, message in self.messages.items()}

    def total(self, uploads: dict[str, bytes]) -> list[int]:
        """The entries of the sum of these uploads, each once."""
        for name, upload in uploads.items():
            self.aggregator.check(name, upload)
        self._step = self.aggregator.advance(uploads)
        return sorted({int(entry) for entry in self.finish().total})


@pytest.fixture
def table() -> Cheating:
    return Cheating(CkksSum(), VECTORS, DOMAIN)


def test_nothing_added_is_an_honest_upload(table: Cheating) -> None:
    uploads = table.answer()
    assert altered(table, "w", uploads["w"], PARAMETERS, added=0) == uploads["w"]
    assert table.total(uploads) == [10]


def test_a_copy_is_refused(table: Cheating) -> None:
    uploads = table.answer()
    with pytest.raises(UploadCopied):
        table.total({**uploads, "w": copied(table, "w", uploads["e"])})


def test_noise_does_not_open(table: Cheating) -> None:
    uploads, noise = table.answer(), uniform(PARAMETERS, np.random.default_rng(1))
    with pytest.raises(OpeningFailed):
        table.total({**uploads, "w": altered(table, "w", uploads["w"], PARAMETERS, added=noise)})


def test_what_is_added_above_the_errors_is_in_the_lowest_values_of_the_sum(table: Cheating) -> None:
    uploads = table.answer()
    false = altered(table, "w", uploads["w"], PARAMETERS, added=100 * PARAMETERS.floor)
    assert table.total({**uploads, "w": false}) == [10, 110]
