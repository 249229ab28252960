"""The mechanisms that a job may choose from: which noise there is on what the silos sum, and who adds it."""

from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.config.section import Section


class FixedClip(Section):
    """One clip norm for all rounds."""

    kind: Literal["fixed"] = Field(default="fixed", description="privacy.clip_norm in every round")


class QuantileClip(Section):
    """The clip norm follows a quantile of the updates' norms, which one more noised entry tells."""

    kind: Literal["quantile"] = Field(description="follow a quantile of the silos' norms (Andrew et al. 2021)")
    quantile: float = Field(default=0.5, gt=0, lt=1, description="the part of the updates that should not be clipped")
    learning_rate: float = Field(default=0.2, gt=0, le=2, description="how fast the clip norm follows the quantile")
    share: float = Field(
        default=0.05,
        gt=0,
        le=0.5,
        description="the part of the squared norm that this entry takes; the more, the noisier the updates",
    )


class WindowClip(Section):
    """The clip norm follows the length of the averages that the last rounds released."""

    kind: Literal["window"] = Field(description="the median length of the last released averages")
    window: int = Field(default=5, ge=1, le=1000, description="the number of past rounds that count")
    factor: float = Field(default=1.0, gt=0, le=100, description="the clip norm as a multiple of that length")


Clipping = Annotated[FixedClip | QuantileClip, Field(discriminator="kind")]
LocalClipping = Annotated[FixedClip | QuantileClip | WindowClip, Field(discriminator="kind")]

Bits = Annotated[int, Field(ge=2, le=32)]


class NoNoise(Section):
    """Nothing is added. Only where privacy is off."""

    kind: Literal["none"] = Field(default="none", description="no noise")
    clipping: FixedClip = Field(default=FixedClip(), description="how the clip norm of updates moves")


class GaussianLocal(Section):
    """Each silo adds all the noise that it needs: it trusts nobody, and the sum is noisiest."""

    kind: Literal["gaussian_local"] = Field(default="gaussian_local", description="each silo noises alone")
    clipping: LocalClipping = Field(default=FixedClip(), description="how the clip norm of updates moves")


class GaussianCentral(Section):
    """The aggregator adds the noise to the total: the least noise, and everyone must trust it to."""

    kind: Literal["gaussian_central"] = Field(description="the aggregator noises the total, and is trusted to do so")
    clipping: Clipping = Field(default=FixedClip(), description="how the clip norm of updates moves")


class _Split(Section):
    """The noise is split over the silos: each adds a part, and what counts is that of the honest ones together."""

    bits: Bits | None = Field(
        default=None,
        description="bits of an entry on the wire, a few more over ckks; if not given, until one more gains below 1 %",
    )
    colluding: int = Field(
        default=1,
        ge=1,
        description="the number of silos that may tell what they know of their own noise, which does not count",
    )
    clipping: Clipping = Field(default=FixedClip(), description="how the clip norm of updates moves")


class Ddg(_Split):
    """Distributed discrete Gaussian noise (Kairouz, Liu and Steinke 2021)."""

    kind: Literal["ddg"] = Field(description="discrete Gaussian noise, split over the silos")


class Skellam(_Split):
    """Distributed Skellam noise (Agarwal, Kairouz and Liu 2021)."""

    kind: Literal["skellam"] = Field(description="Skellam noise, split over the silos")


class Binomial(_Split):
    """Distributed binomial noise (Agarwal et al. 2018, cpSGD): a baseline."""

    kind: Literal["binomial"] = Field(description="binomial noise, split over the silos; a baseline")


class Pbm(_Split):
    """The Poisson-binomial mechanism (Chen, Ozgur and Kairouz 2022), counted by the L2 norm."""

    kind: Literal["pbm"] = Field(description="coins instead of noise, for whole vectors; unbiased, few bits")
    bits: Bits | None = Field(
        default=None,
        description="bits of an entry on the wire; at most 256 coins a silo are thrown, and 16,384 in all, which fill "
        "10 bits for three silos, and more are not used; if not given, until one more gains below 1 %",
    )


class PbmKashin(_Split):
    """The Poisson-binomial mechanism over a Kashin frame, as in its paper: a baseline."""

    kind: Literal["pbm_kashin"] = Field(description="coins for each coefficient of a frame; more error on vectors")
    bits: Bits = Field(default=16, description="the most bits of an entry on the wire; a small epsilon takes fewer")


SplitConfig = Ddg | Skellam | Binomial | Pbm | PbmKashin

MechanismConfig = Annotated[SplitConfig | GaussianLocal | GaussianCentral | NoNoise, Field(discriminator="kind")]

MechanismKind = Literal["ddg", "skellam", "binomial", "pbm", "pbm_kashin", "gaussian_local", "gaussian_central", "none"]
"""Names of the mechanisms in a silo's policy."""
