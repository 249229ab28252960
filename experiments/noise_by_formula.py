"""The error of each kind of noise on one sum, by formula, against the Gaussian noise of one trusted party."""

from siloseal.experiments.kinds_of_noise import CLIP_NORM, Kind, calibrated
from siloseal.federation.privacy.mechanisms.calibration import Demand, gaussian_multiplier, renyi_gaussian_multiplier
from siloseal.federation.privacy.mechanisms.pbm import PoissonBinomial
from siloseal.federation.privacy.mechanisms.pbm_kashin import KashinPoissonBinomial
from siloseal.federation.sums.session import RealDomain

Row = dict[str, float | None]

DELTA, SILOS = 1e-5, 100
MECHANISMS: tuple[Kind, ...] = (
    "ddg", "skellam", "pbm", "binomial", "pbm_kashin", "gaussian_local", "gaussian_central"
)  # fmt: skip
TABLE_BITS = (10, 12, 14, 16, 18)


def demand_of(epsilon: float, length: int) -> Demand:
    """The demand of one release, with everyone honest and present."""
    return Demand(epsilon=epsilon, delta=DELTA, releases=1, silos=SILOS, honest=SILOS, length=length)


def reference(name: str, demand: Demand) -> float:
    """The variance of the continuous Gaussian that a mechanism is compared with."""
    # The paper's PBM hides the replacement of a silo's whole vector by any other, which moves the sum by up to twice
    # the clip norm; the others hide whether a vector is there at all. So its Gaussian is the one of sensitivity 2c.
    # Against that of sensitivity c, which promises less, its ratio is 4 times as large: `pbm_kashin_add_remove`.
    moved = 2 * CLIP_NORM if name == "pbm_kashin" else CLIP_NORM
    # Noise on a grid is counted by Renyi curves, and so is its Gaussian; a Gaussian itself is counted exactly.
    exact = name in ("gaussian_central", "gaussian_local")
    return (moved * (gaussian_multiplier(demand) if exact else renyi_gaussian_multiplier(demand))) ** 2


def computed_rows(length: int, epsilon: float) -> list[Row]:
    """One computed row for each width."""
    return [computed_row(length, epsilon, bits) for bits in TABLE_BITS]


def computed_row(length: int, epsilon: float, bits: int) -> Row:
    """The ratios of every mechanism, by formula, and the bits that coins take. `pbm` rotates vectors: no scalar."""
    demand, domain = demand_of(epsilon, length), RealDomain(length, CLIP_NORM)
    row: Row = {"entries": length, "epsilon": epsilon, "bits": bits, "pbm_bits": None, "pbm_kashin_bits": None}
    for name in MECHANISMS:
        mechanism = None if length == 1 and name == "pbm" else calibrated(name, demand, bits=bits)
        row[name] = None if mechanism is None else mechanism.deviation(domain, SILOS) ** 2 / reference(name, demand)
        if isinstance(mechanism, PoissonBinomial | KashinPoissonBinomial):
            row[f"{name}_bits"] = (SILOS * mechanism.trials).bit_length()
    paper = row["pbm_kashin"]
    return {**row, "pbm_kashin_add_remove": None if paper is None else 4 * paper}
