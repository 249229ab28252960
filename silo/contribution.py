"""What a silo has ready for a sum, and the one sum that it may go into: all of it follows from the job."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import SessionMismatch, WrongRound
from siloseal.federation.job.contributions import (
    model_contribution,
    model_domain,
    model_scheme,
    sketch_domain,
    sketch_scheme,
    sum_id,
)
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import WARM_START, participants
from siloseal.federation.job.protection import honest, quorum
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.privacy.events import Event
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.models.building import feature_map
from siloseal.models.kernel_mean import FeatureMap
from siloseal.models.learner import Learner
from siloseal.silo.data.labelled_images import LabelledImages

SKETCH = "sketch"
_HINTS = {
    "id": "; each sum has a session of its own",
    "identities": "; a silo's identity.key was lost or replaced",
    "start": "; this silo was given another model to start from than the others",
}


@dataclass(frozen=True)
class Prepared:
    """The kernel mean, or the model after a phase's training."""

    job: Job
    silo: str
    roster: Mapping[str, bytes]
    """Everyone's public identity key, as this silo knows it."""
    data: LabelledImages
    units: int
    """How many of them the data are: the contribution's weight."""
    learner: Learner
    what: str
    """`SKETCH`, or the phase that the model was trained in; empty before anything was prepared."""
    round: int
    beacon: bytes
    """The beacon of the run, which names the one sum that it may go into."""
    start: bytes
    """Digest of the model that it was trained from; empty for the sketch."""
    start_model: Tensor | None
    """That model, where the update is what leaves."""
    clip_norm: float
    """That the update is clipped to, then; 0 for the job's own."""

    def scheme(self, session: Session) -> SecureSum:
        """The scheme of this session, if the session is just what the job says: scheme, domain, everyone it names."""
        if not self.what:
            raise WrongRound("nothing was prepared for a sum; the aggregator must ask for a sketch or training first")
        scheme, domain, roster = self._agreed()
        keys = tuple(self.roster[name] for name in roster)
        fewest = quorum(self.job, scheme, len(roster))
        here = sum_id(self.beacon, self.phase, self.round)
        agreed = Session(here, roster, domain, scheme.name, fewest, keys, self.start)
        if session != agreed:
            names = [field.name for field in fields(agreed)]
            differing = [name for name in names if getattr(session, name) != getattr(agreed, name)]
            hint = _HINTS.get(" ".join(differing), "")
            raise SessionMismatch(
                f"the aggregator asks for a sum whose {', '.join(differing)} are not what this silo's job and roster "
                f"say{hint}"
            )
        return scheme

    def event(self, remaining: int) -> Event | None:
        """What its release costs if so many silos stay; None for a model whose training was charged step by step."""
        scheme, domain, _ = self._agreed()
        return scheme.mechanism.event(domain, honest(self.job, remaining)) if isinstance(scheme, NoisySum) else None

    @property
    def phase(self) -> str:
        """That its release belongs to."""
        return WARM_START if self.what == SKETCH else self.what

    def vector(self) -> NDArray[np.float64]:
        """The contribution, noise not included."""
        if self.what == SKETCH:
            return self.features().labelled_sum(self.data.images, self.data.labels).numpy()
        model = self.learner.vector().numpy().astype(np.float64)
        start = np.zeros_like(model) if self.start_model is None else self.start_model.numpy().astype(np.float64)
        return model_contribution(self.job, model, start, units=self.units, clip_norm=self.clip_norm)

    def features(self) -> FeatureMap:
        """The kernel mean's features."""
        if not isinstance(self.job.warm_start, KernelMeanStart):
            raise WrongRound("the job has no kernel mean to sketch")
        return feature_map(self.job, self.job.warm_start, self.data.image_shape, self.data.classes)

    def _agreed(self) -> tuple[SecureSum, RealDomain, tuple[str, ...]]:
        if self.what == SKETCH:
            length = self.features().length
            return sketch_scheme(self.job, length), sketch_domain(self.job, length), self.job.silos.names
        roster = (self.silo,) if self.what == WARM_START else participants(self.job, self.round)
        length = self.learner.vector().numel()
        scheme = model_scheme(self.job, self.what, length, self.clip_norm)
        return scheme, model_domain(self.job, length, self.clip_norm), roster
