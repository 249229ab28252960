import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.sections.partition import (
    ByClass,
    Dirichlet,
    DisjointClasses,
    Files,
    Iid,
    PartitionSpec,
    Sizes,
)
from siloseal.silo.data.partition import partition

TEN_CLASSES = torch.arange(1000) % 10


@st.composite
def deals(draw: st.DrawFn) -> tuple[torch.Tensor, int, PartitionSpec]:
    """Labels, silos and a spec that can be met, so that no refusal excuses the property from being checked."""
    sizes = draw(st.lists(st.integers(40, 60), min_size=1, max_size=6))
    labels = draw(st.permutations([label for label, size in enumerate(sizes) for _ in range(size)]))
    silos = draw(st.integers(1, 6))
    weights = draw(st.lists(st.integers(1, 5), min_size=silos, max_size=silos))
    choices: list[PartitionSpec] = [
        Iid(),
        Dirichlet(alpha=draw(st.sampled_from([1.0, 10.0])), smallest=draw(st.integers(1, 2))),
        ByClass(classes_per_silo=draw(st.integers(-(-len(sizes) // silos), len(sizes)))),
        Sizes(fractions=tuple(weight / sum(weights) for weight in weights)),
    ]
    if len(sizes) >= silos:
        choices.append(DisjointClasses())
    return torch.tensor(labels), silos, draw(st.sampled_from(choices))


@settings(max_examples=100, deadline=None)
@given(deal=deals(), seed=st.integers(0, 9))
def test_every_example_goes_to_exactly_one_silo(deal: tuple[torch.Tensor, int, PartitionSpec], seed: int) -> None:
    labels, silos, spec = deal
    parts = partition(labels, silos, spec, seed)
    assert len(parts) == silos
    assert all(len(part) > 0 and part.dtype == torch.int64 for part in parts)
    assert torch.cat(parts).sort().values.tolist() == list(range(len(labels)))


@pytest.mark.parametrize(
    "spec",
    [
        Iid(),
        Dirichlet(alpha=0.3),
        ByClass(classes_per_silo=5),
        DisjointClasses(),
        Sizes(fractions=(0.6, 0.2, 0.13, 0.07)),
    ],
    ids=lambda spec: spec.kind,
)
class TestEveryPartition:
    def test_covers_the_whole(self, spec: PartitionSpec) -> None:
        assert torch.cat(partition(TEN_CLASSES, 4, spec, seed=1)).sort().values.tolist() == list(range(1000))

    def test_follows_from_its_seed(self, spec: PartitionSpec) -> None:
        first, again, other = (partition(TEN_CLASSES, 4, spec, seed) for seed in (1, 1, 2))
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        assert any(not torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_iid_parts_are_equal() -> None:
    assert [len(part) for part in partition(TEN_CLASSES[:10], 4, Iid(), seed=0)] == [2, 3, 3, 2]


def test_sizes_are_the_stated_fractions() -> None:
    parts = partition(TEN_CLASSES, 4, Sizes(fractions=(0.6, 0.2, 0.13, 0.07)), seed=0)
    assert [len(part) for part in parts] == [600, 200, 130, 70]


@pytest.mark.parametrize(("silos", "held"), [(4, 5), (3, 4), (10, 1), (7, 3), (1, 10), (6, 10)])
def test_by_class_gives_each_silo_so_many_classes_and_spreads_them_evenly(silos: int, held: int) -> None:
    parts = partition(TEN_CLASSES, silos, ByClass(classes_per_silo=held), seed=3)
    classes = [set(TEN_CLASSES[part].tolist()) for part in parts]
    assert all(len(of_silo) == held for of_silo in classes)
    holders = [sum(label in of_silo for of_silo in classes) for label in range(10)]
    assert min(holders) >= 1
    assert max(holders) - min(holders) <= 1


@pytest.mark.parametrize(("silos", "held"), [(1, [10]), (3, [3, 3, 4]), (4, [2, 2, 3, 3]), (10, [1] * 10)])
def test_disjoint_classes_lie_whole_at_one_silo_and_are_dealt_evenly(silos: int, held: list[int]) -> None:
    parts = partition(TEN_CLASSES, silos, DisjointClasses(), seed=3)
    assert sorted(len(TEN_CLASSES[part].unique()) for part in parts) == held
    assert sorted(len(part) for part in parts) == [100 * classes for classes in held]


def test_a_small_alpha_skews_labels_and_a_large_one_does_not() -> None:
    def largest_share(alpha: float) -> float:
        parts = partition(TEN_CLASSES, 4, Dirichlet(alpha=alpha), seed=5)
        return max((TEN_CLASSES[part] == 0).sum().item() for part in parts) / 100

    assert largest_share(0.05) > 0.6
    assert largest_share(1000.0) < 0.35


def test_dirichlet_gives_each_silo_its_minimum() -> None:
    for seed in range(20):
        assert min(len(part) for part in partition(TEN_CLASSES, 5, Dirichlet(alpha=0.2, smallest=50), seed)) >= 50


@pytest.mark.parametrize(
    ("count", "silos", "spec", "says"),
    [
        (3, 4, Iid(), "3 examples .*4 silos"),
        (0, 2, Dirichlet(alpha=1.0), "alpha 1 .* 0 examples"),
        (10, 2, Sizes(fractions=(0.99, 0.01)), "10 examples .*2 silos"),
        (1000, 4, Dirichlet(alpha=0.01, smallest=240), "alpha 0.01 .*1000 examples"),
        (1000, 4, ByClass(classes_per_silo=11), "11 classes .*classes_per_silo"),
        (1000, 4, ByClass(classes_per_silo=2), "between 3 and 10"),
        (1000, 11, DisjointClasses(), "10 classes .*11 silos"),
        (10, 4, ByClass(classes_per_silo=5), "1 examples .*2 silos.*classes_per_silo"),
    ],
)
def test_a_partition_out_of_reach_is_refused(count: int, silos: int, spec: PartitionSpec, says: str) -> None:
    with pytest.raises(DataError, match=says):
        partition(TEN_CLASSES[:count], silos, spec, seed=0)


def test_numbers_of_silos_that_contradict_the_spec_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"2 .* 3 silos"):
        partition(TEN_CLASSES, 3, Sizes(fractions=(0.5, 0.5)), seed=0)
    with pytest.raises(ConfigError, match="0 silos"):
        partition(TEN_CLASSES, 0, Iid(), seed=0)


def test_fractions_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"0\.9\b"):
        Sizes(fractions=(0.5, 0.4))


@pytest.mark.parametrize("spec", [Dirichlet(alpha=1.0), ByClass(classes_per_silo=1), DisjointClasses()])
@pytest.mark.parametrize("labels", [torch.rand(60), torch.zeros(60, 2, dtype=torch.int64)])
def test_what_has_no_single_class_cannot_be_dealt_by_class(spec: PartitionSpec, labels: torch.Tensor) -> None:
    with pytest.raises(DataError):
        partition(labels, 3, spec, seed=1)
    assert sorted(torch.cat(partition(labels, 3, Iid(), seed=1)).tolist()) == list(range(60))


def test_one_set_of_data_is_no_file_for_each_silo() -> None:
    with pytest.raises(ConfigError):
        partition(torch.zeros(6, dtype=torch.int64), 3, Files(), seed=1)
