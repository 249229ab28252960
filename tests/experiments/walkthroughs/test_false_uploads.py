"""False uploads are what notebook 2 says: well signed, and either refused, noticed at the opening, or in the sum."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.experiments.walkthroughs.false_uploads import altered, copied, uniform
from siloseal.federation.errors import OpeningFailed, UploadCopied
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.in_process import InProcess
from siloseal.federation.sums.session import IntegerDomain

DOMAIN = IntegerDomain(500, 2**10)
VECTORS = {name: np.full(500, number, dtype=np.int64) for number, name in enumerate(("n", "e", "s", "w"), start=1)}
PARAMETERS = CkksSum().parameters(DOMAIN, len(VECTORS))
UPLOAD = 3


@pytest.fixture
def parties() -> InProcess:
    return InProcess(CkksSum(), VECTORS, domain=DOMAIN)


def total(parties: InProcess, false_upload: Callable[[dict[str, bytes]], bytes]) -> list[int]:
    """The entries, each once, of the sum in which w sends a false upload, made from everyone's right ones."""
    uploads = dict[str, bytes]()

    def exchange(number: int, silo: str, reply: bytes) -> bytes:
        if number == UPLOAD:
            uploads[silo] = reply
        return false_upload(uploads) if (number, silo) == (UPLOAD, "w") else reply

    return sorted({int(entry) for entry in parties.finish(from_silo=exchange).total})


def test_nothing_added_is_an_honest_upload(parties: InProcess) -> None:
    def unchanged(uploads: dict[str, bytes]) -> bytes:
        assert altered(parties, "w", uploads["w"], PARAMETERS, added=0) == uploads["w"]
        return uploads["w"]

    assert total(parties, unchanged) == [10]


def test_a_copy_is_refused(parties: InProcess) -> None:
    with pytest.raises(UploadCopied):
        total(parties, lambda uploads: copied(parties, "w", uploads["e"]))


def test_noise_does_not_open(parties: InProcess) -> None:
    noise = uniform(PARAMETERS, np.random.default_rng(1))
    with pytest.raises(OpeningFailed):
        total(parties, lambda uploads: altered(parties, "w", uploads["w"], PARAMETERS, added=noise))


def test_what_is_added_above_the_errors_is_in_the_lowest_values_of_the_sum(parties: InProcess) -> None:
    added = 100 * PARAMETERS.floor
    found = total(parties, lambda uploads: altered(parties, "w", uploads["w"], PARAMETERS, added=added))
    assert found == [10, 110]
