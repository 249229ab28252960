"""Training tasks: no image in two of them, no class from elsewhere."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.few_shot import ProtonetConfig
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.models.meta.tasks import Task
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.tasks import FixedTasks, FreshTasks, disjoint_tasks

CONFIG = ProtonetConfig(kind="protonet", ways=3, shots=2, queries=2)


def numbered(counts: tuple[int, ...] = (9, 8, 12, 5, 4, 3)) -> Examples:
    """Images of one pixel each, which is the image's own number; labels have gaps, as a silo's may."""
    labels = np.repeat(np.arange(len(counts)) * 2 + 1, counts)
    pixels = (torch.arange(len(labels)) / 1000).view(-1, 1, 1, 1)
    return Examples(pixels, torch.from_numpy(labels), 2 * len(counts) + 1)


def members_of(task: Task) -> list[int]:
    return [round(value * 1000) for part in (task.support, task.query) for value in part.flatten().tolist()]


class TestFixedTasks:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.integers(0, 30), min_size=3, max_size=9), st.integers(2, 3), st.integers(2, 5), st.integers(0, 99)
    )
    def test_no_image_is_in_two_tasks_and_no_class_twice_in_one(
        self, counts: list[int], ways: int, images: int, seed: int
    ) -> None:
        labels = np.repeat(np.arange(len(counts)), counts)
        if sum(count >= images for count in counts) < ways:
            with pytest.raises(DataError, match=r"learner\.ways"):
                disjoint_tasks(labels, ways=ways, images=images, seed=seed)
            return
        tasks = disjoint_tasks(labels, ways=ways, images=images, seed=seed)
        used = np.concatenate([task.reshape(-1) for task in tasks])
        assert len(set(used.tolist())) == len(used)
        for task in tasks:
            assert task.shape == (ways, images)
            found = labels[task]
            assert (found == found[:, :1]).all()
            assert len(set(found[:, 0].tolist())) == ways
        left = np.bincount(labels, minlength=len(counts)) - np.bincount(labels[used], minlength=len(counts))
        assert (left >= images).sum() < ways  # nothing more could be formed

    def test_they_stay_the_same_whoever_draws(self) -> None:
        one, other = (FixedTasks(numbered(), CONFIG, seed=4, randomness=SecureRandomness()) for _ in range(2))
        assert [task.tolist() for task in one.members] == [task.tolist() for task in other.members]
        for number in range(len(one)):
            (visit,) = one.select(torch.tensor([number]))
            assert sorted(members_of(visit)) == sorted(one.members[number].reshape(-1).tolist())

    def test_they_do_not_depend_on_what_the_images_show(self) -> None:
        data = numbered()
        dark = Examples(torch.zeros_like(data.inputs), data.labels, data.classes)
        tasks = [FixedTasks(part, CONFIG, seed=4, randomness=SecureRandomness()).members for part in (data, dark)]
        assert [task.tolist() for task in tasks[0]] == [task.tolist() for task in tasks[1]]

    def test_roles_and_order_are_drawn_anew_at_each_visit(self) -> None:
        tasks = FixedTasks(numbered(), CONFIG, seed=4, randomness=SeededRandomness(1))
        visits = [tasks.select(torch.tensor([0]))[0] for _ in range(20)]
        assert len({tuple(members_of(visit)) for visit in visits}) > 10
        assert len({tuple(sorted(visit.support.flatten().tolist())) for visit in visits}) > 3

    def test_labels_name_the_classes_within_the_task(self) -> None:
        data = numbered()
        (task,) = FixedTasks(data, CONFIG, seed=4, randomness=SeededRandomness(1)).select(torch.tensor([1]))
        assert task.support_labels.tolist() == [0, 0, 1, 1, 2, 2]
        whole = members_of(task)
        classes = data.labels[torch.tensor(whole)].tolist()
        in_task = [*task.support_labels.tolist(), *task.query_labels.tolist()]
        assert len(set(zip(classes, in_task, strict=True))) == 3  # one number a class, in support and query alike

    def test_mirrored_images_are_of_the_same_task(self) -> None:
        wide = Examples(torch.rand(30, 1, 2, 4), torch.arange(30) % 3, 3)
        config = CONFIG.model_copy(update={"mirror": True})
        tasks = FixedTasks(wide, config, seed=0, randomness=SeededRandomness(1))
        (task,) = tasks.select(torch.tensor([0]))
        own = wide.inputs[torch.from_numpy(tasks.members[0].reshape(-1))]
        turned = 0
        for image in torch.cat([task.support, task.query]):
            same, mirrored = ((own == one).flatten(1).all(1).any() for one in (image, image.flip(-1)))
            assert same or mirrored
            turned += int(not same)
        assert 0 < turned < 12


class TestFreshTasks:
    def test_each_is_of_this_data_with_distinct_images_of_distinct_classes(self) -> None:
        data = numbered()
        tasks = FreshTasks(data, CONFIG, randomness=SeededRandomness(1))
        for task in tasks.select(torch.arange(50)):
            members = members_of(task)
            assert len(set(members)) == 12
            assert len(set(data.labels[torch.tensor(members)].tolist())) == 3

    def test_an_image_is_in_many_of_them(self) -> None:
        tasks = FreshTasks(numbered(), CONFIG, randomness=SeededRandomness(1)).select(torch.arange(50))
        counts = np.bincount([member for task in tasks for member in members_of(task)])
        assert counts.max() > 5

    def test_too_few_classes_are_refused_with_what_to_change(self) -> None:
        with pytest.raises(DataError, match=r"^2 classes .* 4 images .*learner\.ways"):
            FreshTasks(numbered((9, 9, 3)), CONFIG, randomness=SeededRandomness(1))


def test_a_silo_that_has_no_task_is_refused_with_what_to_change() -> None:
    with pytest.raises(DataError, match=r"^0 classes .* 4 images .*learner\.queries"):
        FixedTasks(numbered((3, 3, 3)), CONFIG, seed=0, randomness=SeededRandomness(1))
