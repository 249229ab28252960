"""CKKS under a joint public key, as in Lattigo and OpenFHE: a `SecureSum` to compare with.

1. commit_key: every silo draws a share of the secret key and commits to its public half.
2. reveal_key: it reveals the public half, signed, and seals Shamir shares of its seed to the others.
3. commit_ciphertext: it joins the public key itself, encrypts under it, and signs hashes of the ciphertext.
4. upload: ciphertexts go up once every hash is known, or a silo could cancel another's contribution.
5. open: it re-adds what it is to open from the contributors' signed halves, and opens that, once.

Only where silos went silent after 2, and at least t are left:

6. confirm: it signs who is silent, having seen that t silos opened the same sum.
7. recover: it reveals its shares of the missing seeds, once t silos have signed the same list.

The aggregator adds ciphertexts. It never holds all shares of the key, and neither does any silo.

Why `exposure` assumes that silos follow the protocol: what a silo opens depends on the c1 halves that the others
uploaded, and nothing shows that these are well formed. If a silo uploads c1 + Delta, the opening shows Delta times the
joint key (experiments/attacks has it). The key-additive sum in federation/sums/ckks has no such message.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.fixed_point import grid_step
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters, derive
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, RealDomain, Session, Vector
from siloseal.federation.sums.threshold import recovery_threshold, threshold_exposure


@dataclass(frozen=True)
class JointKeySum:
    """CKKS under a joint public key. See the module's text."""

    precision_bits: int = 28
    statistical_distance_bits: int = 40
    threshold: int | None = None
    sums_modulo: ClassVar[bool] = False

    @property
    def exposure(self) -> Exposure:
        """The exposure of the other sums with a threshold, under one more assumption."""
        return replace(
            threshold_exposure(self.fewest),
            colluders="2t - n - 1, and n - 2 at most, if they follow the protocol",
            assumes="that silos follow the protocol: one that uploads a malformed c1 reads, together with the "
            "aggregator, every upload",
            baseline=True,
        )

    @property
    def name(self) -> str:
        """The scheme's name, which is part of the session's digest."""
        sizes = f"precision_bits={self.precision_bits}, statistical_distance_bits={self.statistical_distance_bits}"
        return f"ckks_joint_key({sizes}, threshold={self.threshold or 'two thirds'})"

    def admit(self, domain: Domain, silos: int) -> None:
        """Require at least two silos, a threshold above half of them, and room for their sum."""
        self.fewest(silos)
        self.parameters(domain, silos)

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        from siloseal.federation.sums.joint_key.silo_side import JointKeySilo  # imports SEAL

        return JointKeySilo(
            session,
            me,
            contribution,
            randomness,
            parameters=self.parameters(session.domain, len(session.roster)),
            precision_bits=self.precision_bits,
            threshold=self.fewest(len(session.roster)),
        )

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        from siloseal.federation.sums.joint_key.aggregator_side import JointKeyAggregator  # imports SEAL

        return JointKeyAggregator(
            session,
            parameters=self.parameters(session.domain, len(session.roster)),
            precision_bits=self.precision_bits,
            threshold=self.fewest(len(session.roster)),
        )

    def parameters(self, domain: Domain, silos: int) -> Parameters:
        """Derive all sizes; they are the same for everyone who computes them."""
        return derive(domain, silos, precision_bits=self.precision_bits, distance_bits=self.statistical_distance_bits)

    def grid(self, domain: Domain) -> float:
        """The distance of two fixed-point values; integers are exact."""
        return grid_step(domain, self.precision_bits) if isinstance(domain, RealDomain) else 0.0

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """The statistical distance that flooding leaves, over one opening."""
        return self.parameters(domain, silos).statistical_distance

    def describe(self, domain: Domain, silos: int) -> dict[str, str]:
        """Describe what the security of a sum over this domain rests on."""
        sizes, threshold = self.parameters(domain, silos), self.fewest(silos)
        noise = f"2^{math.log2(sizes.noise_bound):.1f}"
        rounded = f"{self.precision_bits} bits: an entry is rounded to multiples of {self.grid(domain):.2g}"
        return {
            "degree N": f"{sizes.degree:,}",
            "log q": f"{ring_of(sizes.degree).modulus_bits} bits, within SEAL's limit for 128-bit security",
            "values a coefficient": f"{sizes.values} of {sizes.width} bits",
            "precision": rounded if isinstance(domain, RealDomain) else "integers, which are exact",
            "flooding": f"uniform in [-2^{sizes.flooding_bits}, 2^{sizes.flooding_bits}), over noise below {noise}",
            "statistical distance": f"2^{sizes.statistical_distance_log2:.1f} over the whole opening",
            "threshold": f"{threshold} of {silos} silos recover the key share of a silent one",
        }

    def fewest(self, silos: int) -> int:
        """The threshold: the number of silos that recover the key shares of the others."""
        return recovery_threshold(silos, self.threshold)
