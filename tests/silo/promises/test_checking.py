"""Every promise has a learner that breaks it and is found out, and honest learners keep all of them."""

import pytest

import siloseal
from siloseal.silo.promises.checking import PROMISES, check_promises
from siloseal.silo.promises.trial import Trial, trial_data

from . import cheats, honest

SEPARATE = "a unit influences its own loss and gradient alone"
ONE_LOSS = "row_losses() is one loss a row"
CLIPPABLE = "the network can be clipped"
BOUNDED = "one unit moves the clipped sum by the clip norm at most"
HIDDEN = "nothing but the clipped gradient sees data"
CHANGES_NOTHING = "row_losses() changes no parameter and no buffer"
BUFFERS = "training changes no buffer of shared_model"
METRICS = "public_metrics() are finite numbers"

BREACHES: dict[type, set[str]] = {
    cheats.Plain: set(),
    cheats.CentredOnTheBatch: {SEPARATE, CLIPPABLE, BOUNDED},
    cheats.DividedByTheBatch: {SEPARATE},
    cheats.TurnsWithTheNumber: {SEPARATE},
    cheats.DividedAutoencoder: {SEPARATE},
    cheats.MixedInGradientsAlone: {SEPARATE},
    cheats.WeightedByLabels: {SEPARATE},
    cheats.FollowsTheFirstLabel: {SEPARATE},
    cheats.FollowsTheFirstRowInGradientsAlone: {SEPARATE},
    cheats.MixesLargeBatches: {SEPARATE},
    cheats.MixesFullPasses: {SEPARATE},
    cheats.DrawsFromNumpy: {CLIPPABLE},
    cheats.DrawsFromPython: {CLIPPABLE},
    cheats.DrawsFromTheSystem: {CLIPPABLE},
    cheats.SharesWhatItSaw: {HIDDEN, "load() takes over what vector() gives"},
    cheats.OneLossForAll: {ONE_LOSS},
    cheats.FailsOnNobody: {"an empty batch is a batch"},
    cheats.KeepsAMean: {CHANGES_NOTHING, HIDDEN, BUFFERS},
    cheats.CarriesDataIntoTheVector: {HIDDEN},
    cheats.ShowsTheLoss: {HIDDEN},
    cheats.ShowsNoNumber: {METRICS},
    cheats.BeginsAnywhere: {"one seed builds one learner"},
    cheats.BeginsWithNumpy: {"one seed builds one learner"},
    cheats.StepsAnywhere: {"the same training gives the same result"},
    cheats.ForgetsTheStep: {"state() holds all that training needs"},
    cheats.BringsBackHalf: {"load_state() brings back what state() kept"},
    cheats.CountsItsSteps: {BUFFERS},
    cheats.TakesAnyState: {"load_state() refuses another job's state"},
    cheats.VectorGrows: {
        "load() takes over what vector() gives",
        "load() refuses wrong vectors, and changes nothing then",
    },
    cheats.VectorIsNotFlat: {"vector() is one flat, finite vector, and a copy"},
    cheats.TakesAnything: {"load() refuses wrong vectors, and changes nothing then"},
    cheats.ChecksTooLate: {"load() refuses wrong vectors, and changes nothing then"},
    cheats.NeverShares: {"training changes what is shared"},
    cheats.MeasuresBeyondOne: {"measure(), if there is one, is from 0 to 1"},
    cheats.NormOverTheBatch: {CLIPPABLE, SEPARATE},
    cheats.NormWithStatistics: {CLIPPABLE, SEPARATE, BUFFERS},
}


@pytest.mark.parametrize("learner", BREACHES, ids=lambda learner: learner.__name__)
def test_every_planted_breach_is_found(learner: type) -> None:
    found = siloseal.check_learner(learner, shape=(1, 4, 4), classes=3)
    broken = {each.promise: each.found for each in found if each.outcome == "broken"}
    of_the_same_cause = {each.promise for each in found if any(promise in each.found for promise in broken)}
    assert BREACHES[learner] <= broken.keys() | of_the_same_cause, broken
    assert bool(broken) == bool(BREACHES[learner]), broken


@pytest.mark.parametrize(
    ("learner", "shape", "classes", "label_shape", "options"),
    [
        (honest.Regression, (5,), 0, (), {}),
        (honest.Regression, (1, 3, 3), 0, (), {"average_decay": 0.9}),
        (honest.Segmentation, (1, 6, 6), 3, (6, 6), {}),
        (honest.TinyGan, (1, 4, 4), 3, (), {}),
        (honest.Autoencoder, (1, 5, 5), 3, (), {}),
    ],
    ids=["regression", "averaged_regression", "segmentation", "gan", "autoencoder"],
)
def test_honest_learners_keep_every_promise(
    learner: type, shape: tuple[int, ...], classes: int, label_shape: tuple[int, ...], options: dict[str, float]
) -> None:
    found = siloseal.check_learner(learner, shape=shape, classes=classes, label_shape=label_shape, options=options)
    assert [(each.promise, each.found) for each in found if each.outcome == "broken"] == []
    untried = [each for each in found if each.outcome == "not tried"]
    assert [each.promise for each in untried] == ([BOUNDED] if draws(learner) else [])
    assert not any(each.kept or not each.found for each in untried)
    assert [each.promise for each in found] == list(PROMISES)


def draws(learner: type) -> bool:
    """Whether what is drawn for a row is part of its loss."""
    return learner in (honest.Autoencoder, honest.TinyGan)


@pytest.mark.parametrize(
    ("learner", "named"),
    [(cheats.DrawsFromNumpy, "numpy"), (cheats.DrawsFromPython, "Python"), (cheats.DrawsFromTheSystem, "its own")],
)
def test_draws_from_elsewhere_than_torch_are_named_wherever_they_make_a_check_fail(learner: type, named: str) -> None:
    found = siloseal.check_learner(learner, shape=(1, 4, 4), classes=3)
    assert named in next(each.found for each in found if each.promise == CLIPPABLE)
    assert not any("UnclippableModule" in each.found for each in found)


def test_every_promise_has_somebody_who_breaks_it() -> None:
    assert set().union(*BREACHES.values()) == set(PROMISES)


def test_what_a_class_raises_is_found_with_the_line_of_its_own_file() -> None:
    class Raises(cheats.Plain):
        def row_losses(self, rows: siloseal.LabelledRows) -> None:  # type: ignore[override]
            raise KeyError("anything")

    data, other = (trial_data((4,), 3, seed=seed) for seed in (1, 2))
    found = {each.promise: each for each in check_promises(Trial(lambda: Raises((4,), 3, {}), data, other))}
    assert [promise for promise, each in found.items() if each.outcome == "broken"] == [ONE_LOSS]
    assert "KeyError" in found[ONE_LOSS].found
    assert __file__ in found[ONE_LOSS].found
    assert found[SEPARATE].outcome == "not tried"
    assert ONE_LOSS in found[SEPARATE].found
    assert found["one seed builds one learner"].kept
