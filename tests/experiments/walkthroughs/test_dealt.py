"""The images that notebooks show as a silo's are those that it trains on."""

import numpy as np

from siloseal.experiments.walkthroughs.dealt import Pictures, deal_images
from siloseal.experiments.walkthroughs.small_jobs import small_job
from siloseal.run_folder.images import quantise
from siloseal.runs.simulation import deal
from siloseal.silo.data.loading import load


def test_each_silo_is_shown_with_its_own_part() -> None:
    job = small_job("digits.yaml", {"silos": {"partition": {"kind": "by_class", "classes_per_silo": 5}}})
    shown, (train, held_out) = deal_images(job), load(job.data)
    for name, part in deal(job, train).items():
        assert np.array_equal(shown.silos[name].images, quantise(part.inputs))
        assert shown.silos[name].classes == sorted(part.label_set())
        assert len(shown.silos[name].one_of_each) == 5
    assert len(shown.held_out.labels) == len(held_out)


def test_the_first_of_each_class_stands_in_order_of_class() -> None:
    images = np.arange(4, dtype=np.uint8).reshape(4, 1, 1, 1)
    assert Pictures(images, np.array([2, 0, 2, 0])).one_of_each.ravel().tolist() == [1, 0]
