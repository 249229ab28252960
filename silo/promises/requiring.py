"""A silo's own trial of a learner that a user brings, before anything private is used and before the first charge.

Whoever wrote the class may never have typed `siloseal check-learner`, and whoever lists it in a policy may have
overlooked something. So the silo tries itself what its guarantee and the sums rest on, on rows that are made up.
"""

import json
import shlex
from functools import lru_cache

from siloseal.federation.errors import PromiseBroken
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.job.sections.supervised import PythonConfig
from siloseal.federation.shapes import Shape
from siloseal.models.own_learner import build_own_learner
from siloseal.models.user_code.loading import require_source
from siloseal.silo.data.examples import Examples
from siloseal.silo.promises.checking import FOR_PRIVACY, FOR_SUMS, check_promises
from siloseal.silo.promises.trial import SEED, Trial


def require_promises(job: Job, data: Examples) -> None:
    """`PromiseBroken` for a learner of the user's own that breaks what the job rests on. Of the data only shapes count.

    Each unit's guarantee is tried where the job protects units. A promise that cannot be tried refuses nobody.
    """
    learner = job.learner
    if not isinstance(learner, PythonConfig):
        return
    source = require_source(learner.code)
    options, label_shape = json.dumps(learner.options, sort_keys=True), tuple(data.labels.shape[1:])
    private = isinstance(job.privacy, UnitLevel)
    if found := _broken(learner.target, source.digest, options, data.shape, data.classes, label_shape, private):
        command = _command(learner, data.shape, data.classes, label_shape, str(source.folder))
        raise PromiseBroken(
            f"{learner.target} breaks a promise that {'privacy or ' * private}the sums rest on: {found}. Nothing more "
            f"was charged; correct the class, and try all promises with `{command}`"
        )


@lru_cache(maxsize=64)  # many silos of a simulation have one learner, and a refused job may be offered again and again
def _broken(
    target: str, digest: str, options: str, shape: Shape, classes: int, label_shape: Shape, private: bool
) -> str:
    """The first promise that is broken, and what was found; empty if none is."""
    config = PythonConfig(kind="python", target=target, source=digest, options=json.loads(options))
    trial = Trial.on(lambda: build_own_learner(config, shape, classes, seed=SEED), shape, classes, label_shape)
    promises = {**FOR_PRIVACY, **FOR_SUMS} if private else FOR_SUMS
    broken = (finding for finding in check_promises(trial, promises) if finding.outcome == "broken")
    return next((f"'{finding.promise}' ({finding.found})" for finding in broken), "")


def _command(learner: PythonConfig, shape: Shape, classes: int, label_shape: Shape, folder: str) -> str:
    """The command that shows what became of every promise of the learner."""
    words = ["siloseal", "check-learner", learner.target, "--shape", _sizes(shape), "--classes", str(classes)]
    words += ["--label-shape", _sizes(label_shape)] if label_shape else []
    words += ["--options", json.dumps(learner.options)] if learner.options else []
    return shlex.join([*words, "--folder", folder])


def _sizes(shape: Shape) -> str:
    return ",".join(map(str, shape))
