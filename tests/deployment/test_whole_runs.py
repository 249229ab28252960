"""Real processes, real sockets, real TLS: a job from the first dial to the last receipt."""

from collections.abc import Callable

import numpy as np

from .conftest import KERNEL_MEAN, NAMES, Consortium

ConsortiumOf = Callable[..., Consortium]


def test_a_run_ends_with_a_model_and_every_party_well(consortium_of: ConsortiumOf) -> None:
    consortium = consortium_of(warm_start=KERNEL_MEAN, secure_sum={"kind": "ckks"}).start()
    model = consortium.finish()
    assert np.isfinite(model).all()
    assert np.array_equal(model, consortium.model("models/round_1.safetensors"))
    for name in NAMES:
        assert (consortium.run_folder(name) / "global.safetensors").exists()
