"""Whatever a caller may pass to the public functions that read, plan, run and draw: it is refused in words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import siloseal
from siloseal.federation.job.sections.few_shot import ProtonetConfig
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.models.gan.building import build_generator
from siloseal.models.meta.building import build_few_shot_model

CONFIGS = Path(__file__).parents[2] / "configs"
NO_PATHS: list[Any] = [None, 3, 1.5, True, b"x", "", "a\0b", [], {}, object(), np.zeros(3), siloseal.load_job]
WHERE_PATHS_GO: dict[str, Callable[[Any], object]] = {
    "load_job": siloseal.load_job,
    "read_run": siloseal.read_run,
    "read_ledger": lambda given: siloseal.read_ledger(given, "north"),
    "load_model": siloseal.load_model,
    "sample": siloseal.sample,
    "adapt": lambda given: siloseal.adapt(given, "support", "query"),
    "support": lambda given: siloseal.adapt("model.safetensors", given, "query"),
    "query": lambda given: siloseal.adapt("model.safetensors", "support", given),
}
GENERATOR = build_generator(GanConfig(kind="gan", latent=8), (1, 8, 8), 10, seed=0)
FEW_SHOT = build_few_shot_model(ProtonetConfig(kind="protonet", network="wavelets"), (1, 16, 16), seed=0)


@pytest.mark.parametrize("use", WHERE_PATHS_GO.values(), ids=WHERE_PATHS_GO)
@pytest.mark.parametrize("given", NO_PATHS, ids=lambda given: type(given).__name__)
def test_what_is_no_path_is_refused_with_what_was_expected(use: Callable[[Any], object], given: Any) -> None:
    with pytest.raises(siloseal.ConfigError, match="path"):
        use(given)


@pytest.mark.parametrize("use", WHERE_PATHS_GO.values(), ids=WHERE_PATHS_GO)
def test_a_job_in_place_of_a_path_is_refused(use: Callable[[Any], object]) -> None:
    with pytest.raises(siloseal.ConfigError, match="Job"):
        use(siloseal.load_job(CONFIGS / "digits.yaml"))


@pytest.mark.parametrize("use", WHERE_PATHS_GO.values(), ids=WHERE_PATHS_GO)
def test_a_path_with_a_name_that_no_disk_has_room_for_is_refused(use: Callable[[Any], object]) -> None:
    with pytest.raises(siloseal.ConfigError, match="path"):
        use(300 * "a")


@pytest.mark.parametrize("out", ["/dev/null", 300 * "a"])
def test_a_run_does_not_begin_where_no_folder_can_be(out: str) -> None:
    with pytest.raises(siloseal.SiloSealError, match=out[:9]):
        siloseal.simulate(siloseal.load_job(CONFIGS / "digits.yaml"), out)


@pytest.mark.parametrize("use", [siloseal.plan, siloseal.simulate])
@pytest.mark.parametrize(
    "given", ["job.yaml", Path("job.yaml"), None, {}, GENERATOR], ids=lambda given: type(given).__name__
)
def test_anything_in_place_of_a_job_is_refused_with_how_to_read_one(use: Callable[[Any], object], given: Any) -> None:
    with pytest.raises(siloseal.ConfigError, match="load_job"):
        use(given)


@pytest.mark.parametrize("use", WHERE_PATHS_GO.values(), ids=WHERE_PATHS_GO)
def test_a_path_where_nothing_is_is_refused(use: Callable[[Any], object], tmp_path: Path) -> None:
    with pytest.raises(siloseal.SiloSealError):
        use(tmp_path / "nowhere")


class TestDrawing:
    @pytest.mark.parametrize("label", [1.5, 10, -1, "3", True, [1], float("nan"), 10**30, torch.tensor(3)], ids=str)
    def test_a_class_that_the_model_does_not_have_is_refused(self, label: Any) -> None:
        with pytest.raises(siloseal.ConfigError, match="0 to 9"):
            siloseal.sample(GENERATOR, label=label)

    def test_a_text_is_shown_as_a_text(self) -> None:
        for misuse in ({"label": "3"}, {"count": "3"}, {"seed": "3"}):
            with pytest.raises(siloseal.ConfigError, match=f"{next(iter(misuse))} is '3'"):
                siloseal.sample(GENERATOR, **misuse)  # type: ignore[arg-type]

    @pytest.mark.parametrize("count", [0, -1, 1.5, "3", True, None, float("nan"), 10**30], ids=str)
    def test_a_count_that_is_no_count_is_refused(self, count: Any) -> None:
        with pytest.raises(siloseal.ConfigError, match="count is"):
            siloseal.sample(GENERATOR, count=count)

    @pytest.mark.parametrize("seed", [-1, 1.5, "3", True, None, 2**63], ids=str)
    def test_a_seed_that_is_no_seed_is_refused(self, seed: Any) -> None:
        with pytest.raises(siloseal.ConfigError, match="seed is"):
            siloseal.sample(GENERATOR, seed=seed)

    def test_whole_numbers_of_numpy_are_taken(self) -> None:
        of_numpy = siloseal.sample(GENERATOR, label=np.int64(3), count=np.int64(2), seed=np.int64(5))  # type: ignore[arg-type]
        assert np.array_equal(of_numpy.images, siloseal.sample(GENERATOR, label=3, count=2, seed=5).images)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: siloseal.sample(FEW_SHOT),
        lambda: siloseal.sample(torch.nn.Linear(2, 2)),  # type: ignore[arg-type]
        lambda: siloseal.adapt(GENERATOR, "support", "query"),
        lambda: siloseal.adapt(torch.nn.Linear(2, 2), "support", "query"),  # type: ignore[arg-type]
    ],
)
def test_a_network_of_another_kind_is_refused_with_what_was_expected(misuse: Callable[[], object]) -> None:
    with pytest.raises(siloseal.ConfigError, match=r"expected a (generator|few-shot model)"):
        misuse()
