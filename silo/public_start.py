"""The sum of random features of public data: no noise, no ledger, because nothing in it is anybody's secret."""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.sections.data import DataSource
from siloseal.federation.job.sections.warm_start import PublicStart
from siloseal.models.kernel_mean import FeatureMap
from siloseal.silo.data.loading import load, place


def require_not_own(start: PublicStart, *, own: DataSource) -> None:
    """`ConfigError` where public data are the silos' own under another name."""
    found = place(start.data)
    if start.data.origin == own.origin or (found is not None and found == place(own)):
        raise ConfigError(
            f"warm_start.data and data both lead to {found or start.data.kind}: the silos' own data are not public, "
            "and would be used without noise and without a charge; name another data set"
        )


def require_other_package(start: PublicStart, *, own: DataSource) -> None:
    """`ConfigError` where a job calls public what a deployed silo reads from an installed package.

    Paths are not compared: only the aggregator reads the public data, on its own machine. A path of the job that were
    looked up at the silo would tell a stranger, by the reply, which files, users and environment variables are there.
    """
    if start.data.origin == own.origin == (own.kind,):
        raise ConfigError(
            f"warm_start.data and the silo's data are both {own.kind}: the silo's own data are not public, and would "
            "be used without noise and without a charge; name another data set"
        )


def public_sum(start: PublicStart, features: FeatureMap, *, own: DataSource) -> NDArray[np.float64]:
    """The labelled sum of the public data set, of the silos' shape and classes, but not of their examples."""
    require_not_own(start, own=own)
    data, _ = load(start.data)
    if (data.shape, data.classes) != (features.shape, features.classes):
        raise DataError(
            f"the public data are {data.shape} in {data.classes} classes, but the silos' are "
            f"{features.shape} in {features.classes}; set warm_start.data.side, or choose other public data"
        )
    return features.labelled_sum(data.inputs, data.labels).numpy()
