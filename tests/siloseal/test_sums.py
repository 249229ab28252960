"""A secure sum in one process, chosen and called as a user would, and whatever else a user may pass."""

import re
from typing import Any

import numpy as np
import pytest
import torch

import siloseal
from siloseal.federation.errors import DomainError

ONES = {name: np.ones(3) for name in ("north", "east", "south")}
PLAIN, SECAGG = siloseal.secure_sum("plain"), siloseal.secure_sum("secagg")


def named(value: object) -> str:
    """The name of a test with this value: without addresses, so that every process collects the same tests."""
    return re.sub(r" at 0x\w+", "", str(value))


def test_a_sum_is_that_of_the_vectors_under_a_scheme_chosen_as_in_a_job() -> None:
    vectors = {name: np.full(10, 0.5) for name in ONES}
    found = siloseal.sum_in_process(siloseal.secure_sum("secagg", {"precision_bits": 30}), vectors)
    assert isinstance(found, siloseal.InProcessSum)
    np.testing.assert_allclose(found.total, np.full(10, 1.5), atol=found.error_bound)


def test_integers_are_summed_modulo_what_all_agree_on() -> None:
    domain = siloseal.IntegerDomain(length=2, modulus=7)
    assert siloseal.sum_in_process(SECAGG, [[3, 6], [3, 0], [3, 2]], domain=domain).total.tolist() == [2, 1]


@pytest.mark.parametrize("kind", ["secag", "", None, 3, ["ckks"], b"ckks", SECAGG], ids=named)
def test_a_scheme_that_is_not_there_is_refused(kind: Any) -> None:
    with pytest.raises(siloseal.ConfigError, match="ckks"):
        siloseal.secure_sum(kind)


@pytest.mark.parametrize(
    "options",
    [
        {"precison_bits": 30},
        {"precision_bits": 0},
        {"precision_bits": "x"},
        {"precision_bits": None},
        {"precision_bits": object()},
        {"precision_bits": np.int64(30)},
        {"kind": "plain"},
        {3: 4},
        {None: 1},
        {("a",): 1},
        [("precision_bits", 30)],
        [],
        "precision_bits",
        3,
    ],
    ids=named,
)
def test_options_that_the_scheme_does_not_have_are_refused(options: Any) -> None:
    with pytest.raises(siloseal.ConfigError):
        siloseal.secure_sum("secagg", options)


def test_a_wrong_option_is_named_without_a_line_of_any_file() -> None:
    with pytest.raises(siloseal.ConfigError, match=r"^secure_sum\.precision_bits: .*1000"):
        siloseal.secure_sum("ckks", {"precision_bits": 1000})


@pytest.mark.parametrize(
    "scheme", ["secagg", None, 3, {"kind": "secagg"}, siloseal.secure_sum, type(SECAGG)], ids=named
)
def test_what_is_no_scheme_is_refused_with_how_to_build_one(scheme: Any) -> None:
    with pytest.raises(siloseal.ConfigError, match="secure_sum"):
        siloseal.sum_in_process(scheme, ONES)


WRONG_VECTORS: dict[str, Any] = {
    "none": None,
    "number": 3,
    "text": "abc",
    "texts": ["a", "b", "c"],
    "empty list": [],
    "empty mapping": {},
    "one row": np.ones(3),
    "matrices": np.ones((3, 2, 2)),
    "no entries": [[], [], []],
    "numbers": {"north": 1.0, "east": 1.0},
    "two lengths": [[1.0, 2.0], [1.0]],
    "ragged": [[[1.0], [1.0, 2.0]]] * 3,
    "words among numbers": [[1.0, "x"]] * 3,
    "words that are numbers": [["1.0"], ["2.0"]],
    "nothing among numbers": [[None, 1.0]] * 3,
    "objects": [object()] * 3,
    "mappings": [{"x": 1.0}] * 3,
    "nan": [[1.0, float("nan")], [1.0, 1.0]],
    "infinity": [[1.0, float("inf")], [1.0, 1.0]],
    "beyond floats": [[10**400], [1.0]],
    "complex": [np.ones(2, complex)] * 3,
    "booleans": [np.ones(2, bool)] * 3,
    "a gradient": [torch.ones(2, requires_grad=True)] * 3,
    "names that are numbers": {1: [1.0], 2: [2.0]},
    "names that are bytes": {b"a": [1.0], b"b": [2.0]},
    "no name": {None: [1.0], "b": [2.0]},
    "an empty name": {"": [1.0], "b": [2.0]},
    "half a letter for a name": {"\ud800": [1.0, 1.0], "b": [1.0, 1.0]},
    "a name longer than any of a job": {65 * "a": [1.0, 1.0], "b": [1.0, 1.0]},
    "masked entries": [np.ma.array([1.0, 1.0], mask=[False, True]), [1.0, 1.0]],
}


@pytest.mark.parametrize("domain", [None, siloseal.RealDomain(2, 1.0)], ids=["inferred", "given"])
@pytest.mark.parametrize("scheme", [PLAIN, SECAGG], ids=["plain", "secagg"])
@pytest.mark.parametrize("vectors", WRONG_VECTORS.values(), ids=WRONG_VECTORS)
def test_vectors_that_cannot_be_added_are_refused(scheme: Any, domain: Any, vectors: Any) -> None:
    with pytest.raises(DomainError):
        siloseal.sum_in_process(scheme, vectors, domain=domain)


def test_names_may_be_as_long_as_those_of_a_job() -> None:
    vectors = {name * 64: [1.0] for name in "abc"}
    for scheme in (SECAGG, siloseal.secure_sum("ckks")):
        assert set(siloseal.sum_in_process(scheme, vectors).contributors) == set(vectors)


@pytest.mark.parametrize(("largest", "fits"), [(3.4e38, True), (3.41e38, False), (1e300, False)])
def test_a_plain_sum_carries_what_single_precision_holds(largest: float, fits: bool) -> None:
    vectors = [[largest], [-largest], [0.0]]
    if fits:
        assert siloseal.sum_in_process(PLAIN, vectors).total.tolist() == [0.0]
    else:
        with pytest.raises(DomainError):
            siloseal.sum_in_process(PLAIN, vectors)


@pytest.mark.parametrize(
    "drop",
    [
        ["north"], "north", 3, {"nobody": 1}, {3: 1}, {None: 1}, {"north": 0}, {"north": -1}, {"north": 1.5},
        {"north": "x"}, {"north": None}, {"north": True}, {"north": 6}, {"north": 99},
    ],
    ids=named,
)  # fmt: skip
def test_silos_cannot_drop_out_that_are_not_there_or_in_a_round_that_is_not_there(drop: Any) -> None:
    with pytest.raises(siloseal.ProtocolError):
        siloseal.sum_in_process(SECAGG, ONES, drop=drop)


@pytest.mark.parametrize("quorum", [0, -1, 1, 4, 10**20, 1.5, "x", True, []], ids=named)
def test_a_quorum_that_does_not_fit_is_refused(quorum: Any) -> None:
    with pytest.raises(siloseal.ProtocolError):
        siloseal.sum_in_process(SECAGG, ONES, quorum=quorum)


@pytest.mark.parametrize(
    "domain",
    [
        0, 3, "x", (3, 1.0), siloseal.RealDomain,
        *(siloseal.RealDomain(3, bound) for bound in (0, -1.0, float("nan"), float("inf"), 10**400, None)),
        siloseal.RealDomain(3, "x"),  # type: ignore[arg-type]
        *(siloseal.RealDomain(length, 1.0) for length in (0, -3, True, 4)),
        siloseal.RealDomain(3.0, 1.0),  # type: ignore[arg-type]
        siloseal.RealDomain(3, 0.5),
        siloseal.IntegerDomain(3, 7),
        *(siloseal.IntegerDomain(3, modulus) for modulus in (1, -5, True, 2**200)),
        siloseal.IntegerDomain(3, 1.5),  # type: ignore[arg-type]
    ],
    ids=lambda domain: repr(domain)[:40],
)  # fmt: skip
def test_a_domain_that_no_sum_can_be_over_is_refused(domain: Any) -> None:
    with pytest.raises(siloseal.ProtocolError):
        siloseal.sum_in_process(SECAGG, ONES, domain=domain)
