"""A public start must be public: the silos' own data is refused under whatever path it is named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import EmbeddedMnist, IdxFiles, NpzFile
from siloseal.federation.job.sections.warm_start import PublicStart
from siloseal.models.kernel_mean import FeatureMap
from siloseal.silo.public_start import public_sum

FEATURES = FeatureMap((1, 4, 4), 2, frequencies=8, length_scale=1.0, seed=0)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "own.npz"
    path.parent.mkdir()
    random = np.random.default_rng(0)
    np.savez(path, images=random.random((20, 4, 4)), labels=np.arange(20) % 2)
    return path


@pytest.mark.parametrize("name", ["../data/own.npz", "link.npz", "${HERE}/own.npz"])
def test_the_silos_own_data_under_another_name_are_refused(
    archive: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE", str(archive.parent))
    (archive.parent / "link.npz").symlink_to(archive)
    path = Path(name) if name.startswith("$") else archive.parent / name
    start = PublicStart(kind="public", data=NpzFile(path=path))
    with pytest.raises(ConfigError, match=r"^warm_start\.data and data .*\.npz"):
        public_sum(start, FEATURES, own=NpzFile(path=archive))


def test_other_data_are_summed_without_noise(archive: Path) -> None:
    start = PublicStart(kind="public", data=NpzFile(path=archive, held_out=0.5))
    total = public_sum(start, FEATURES, own=EmbeddedMnist())
    assert total.shape == (FEATURES.length,)
    assert (total == public_sum(start, FEATURES, own=EmbeddedMnist())).all()


def test_embedded_mnist_is_no_public_data_for_mnist(small_job: Callable[..., Job]) -> None:
    fields = small_job().model_dump()
    fields["data"] = IdxFiles(folder=Path("mnist")).model_dump()
    fields["warm_start"] = {"kind": "public", "data": EmbeddedMnist().model_dump()}
    with pytest.raises(ValidationError, match=r"warm_start\.data"):
        Job.model_validate(fields)
    fields["data"]["name"] = "fashion_mnist"
    Job.model_validate(fields)
