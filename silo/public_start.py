"""The sum of random features of public data: no noise, no ledger, because nothing in it is anybody's secret."""

import numpy as np
from numpy.typing import NDArray

from federation.config.job import PublicStart
from federation.errors import DataError
from models.kernel_mean import FeatureMap
from silo.data.loading import load


def public_sum(start: PublicStart, features: FeatureMap) -> NDArray[np.float64]:
    """The labelled sum of the public data set, whose shape and classes must be the silos'."""
    data, _ = load(start.data)
    if (data.image_shape, data.classes) != (features.image_shape, features.classes):
        raise DataError(
            f"the public data are {data.image_shape} in {data.classes} classes, but the silos' are "
            f"{features.image_shape} in {features.classes}; set warm_start.data.side, or choose other public data"
        )
    return features.labelled_sum(data.images, data.labels).numpy()
