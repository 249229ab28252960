"""Functions behind the names of `import siloseal` that sum in one process."""

import sys
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING

import yaml

from siloseal._arguments import shown
from siloseal.federation.config.loading import check_values
from siloseal.federation.errors import ConfigError, DomainError, WrongRound
from siloseal.federation.whole_numbers import is_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from siloseal.federation.sums.exchanges import InProcessSum
    from siloseal.federation.sums.secure_sum import SecureSum
    from siloseal.federation.sums.session import IntegerDomain, RealDomain


def secure_sum(kind: str, options: Mapping[str, object] | None = None) -> "SecureSum":
    """Build a secure sum by the name and the options that a job's file has under `secure_sum`, for `sum_in_process`.

    >>> siloseal.secure_sum("secagg", {"precision_bits": 30}).fewest(4)  # silos that must stay to the end
    3
    """
    from siloseal.federation.sums.config import NamedSum

    given = {} if options is None else options
    if not isinstance(kind, str):
        raise ConfigError(f"kind is {shown(kind)}, expected the name of a secure sum, such as 'ckks'")
    if not isinstance(given, Mapping) or "kind" in given or not all(isinstance(name, str) for name in given):
        raise ConfigError(f"options are {shown(options)}, expected the sum's options by name, `kind` not among them")
    try:
        config = check_values(NamedSum, {"secure_sum": {**given, "kind": kind}})
    except yaml.YAMLError:
        types = ", ".join(f"{name}: {type(value).__name__}" for name, value in given.items())
        raise ConfigError(f"options are {types}, expected numbers and words of Python, as in a job's file") from None
    return config.secure_sum.build()


def sum_in_process(
    scheme: "SecureSum",
    vectors: "Mapping[str, ArrayLike] | Iterable[ArrayLike]",
    *,
    domain: "RealDomain | IntegerDomain | None" = None,
    quorum: int | None = None,
    drop: Mapping[str, int] | None = None,
) -> "InProcessSum":
    """Sum the silos' vectors by the real protocol, between parties that all live in this process.

    `scheme` comes from `secure_sum`. Vectors without names are those of silo0, silo1, and so on. `domain` says what
    entries may be; where it is left out, they are reals up to the largest magnitude that is there. `quorum` is the
    number of silos that must contribute, all if it is left out. `drop` names silos that fall silent, each with the
    first round that it does not answer, counted from 1.

    >>> vectors = {"north": [0.5, 1.0], "east": [0.25, 2.0], "south": [0.25, -1.0]}
    >>> result = siloseal.sum_in_process(siloseal.secure_sum("secagg"), vectors)
    >>> result.total.round(6).tolist()
    [1.0, 2.0]
    """
    from siloseal.federation.sums.in_process import sum_in_process as sum_all

    if isinstance(scheme, type) or not callable(getattr(scheme, "admit", None)):
        raise ConfigError(f"found {shown(scheme)}, expected a secure sum; build one with siloseal.secure_sum('ckks')")
    if domain is not None:
        _require_domain(domain)
    result = sum_all(scheme, vectors, domain=domain, quorum=quorum, drop=drop)
    if late := {silo: first for silo, first in (drop or {}).items() if first > result.rounds}:
        raise WrongRound(f"drop is {late}, but this sum has {result.rounds} rounds; give one of them, counted from 1")
    return result


def _require_domain(domain: object) -> None:
    from siloseal.federation.sums.session import IntegerDomain, RealDomain

    match domain:
        case RealDomain(length, bound):
            right = is_whole(length) and length >= 1 and isinstance(bound, Real) and 0 < bound <= sys.float_info.max
        case IntegerDomain(length, modulus):
            right = is_whole(length) and length >= 1 and is_whole(modulus) and modulus >= 2
        case _:
            right = False
    if not right:
        raise DomainError(
            f"domain is {repr(domain)[:100]}, expected siloseal.RealDomain(length, bound) with a positive "
            "bound, or siloseal.IntegerDomain(length, modulus) with a modulus of 2 or more; lengths are 1 or more"
        )
