"""All promises of a learner, tried one after the other, each with what was found."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from siloseal.federation.errors import SiloSealError, UnclippableModule
from siloseal.models.user_code.source import INSTALLED
from siloseal.silo.promises.foreign_draws import foreign_draws
from siloseal.silo.promises.hidden_data import losses_change_nothing, only_the_gradient_sees_data
from siloseal.silo.promises.outcome import NotTried, Outcome
from siloseal.silo.promises.repeatability import (
    metrics_are_numbers,
    one_seed_builds_one_learner,
    one_state_trains_to_one_result,
    state_holds_everything,
    state_is_brought_back,
    state_of_another_job_is_refused,
)
from siloseal.silo.promises.separate_units import (
    clipped_sum_is_bounded,
    empty_batches_work,
    network_is_clippable,
    one_loss_a_row,
    units_are_separate,
)
from siloseal.silo.promises.shared_part import (
    buffers_stay,
    measure_is_a_share,
    shared_part_follows,
    vector_is_flat,
    vector_is_taken_over,
    wrong_vectors_are_refused,
)
from siloseal.silo.promises.trial import Trial

Check = Callable[[Trial], str | NotTried]

FOR_SUMS: Mapping[str, Check] = {
    "vector() is one flat, finite vector, and a copy": vector_is_flat,
    "load() takes over what vector() gives": vector_is_taken_over,
    "training changes no buffer of shared_model": buffers_stay,
    "load_state() brings back what state() kept": state_is_brought_back,
}
"""Promises that every sum over silos rests on. A silo tries them itself (`requiring`)."""

FOR_PRIVACY: Mapping[str, Check] = {
    "row_losses() is one loss a row": one_loss_a_row,
    "the network can be clipped": network_is_clippable,
    "a unit influences its own loss and gradient alone": units_are_separate,
    "one unit moves the clipped sum by the clip norm at most": clipped_sum_is_bounded,
    "an empty batch is a batch": empty_batches_work,
    "row_losses() changes no parameter and no buffer": losses_change_nothing,
    "nothing but the clipped gradient sees data": only_the_gradient_sees_data,
}
"""Promises that the guarantee of each unit rests on. A silo tries them itself where units are protected."""

PROMISES: Mapping[str, Check] = {
    "one seed builds one learner": one_seed_builds_one_learner,  # required wherever a learner is built
    **FOR_PRIVACY,
    **FOR_SUMS,
    "load() refuses wrong vectors, and changes nothing then": wrong_vectors_are_refused,
    "training changes what is shared": shared_part_follows,
    "the same training gives the same result": one_state_trains_to_one_result,
    "state() holds all that training needs": state_holds_everything,
    "load_state() refuses another job's state": state_of_another_job_is_refused,
    "public_metrics() are finite numbers": metrics_are_numbers,
    "measure(), if there is one, is from 0 to 1": measure_is_a_share,
}
"""Promises in words, and the function that tries each: it returns what is wrong, nothing, or why it cannot."""


@dataclass(frozen=True)
class LearnerFinding:
    """One promise of a learner, and whether it is kept, as far as a trial can tell.

    >>> first, *others = siloseal.check_learner("mylearner:Halves", shape=(3,), classes=2)
    >>> first.promise, first.outcome
    ('one seed builds one learner', 'kept')
    """

    promise: str
    outcome: Outcome
    """Whether the promise is kept or broken; or that it could not be tried on this learner."""
    found: str
    """What is wrong, and what to do; why the promise was not tried; empty where it is kept."""

    @property
    def kept(self) -> bool:
        """Whether the promise was tried and is kept."""
        return self.outcome == "kept"


@dataclass(frozen=True)
class _Breach:
    """What is wrong, in words; and its cause, by which another promise that ends the same way is told."""

    words: str
    cause: str


def check_promises(trial: Trial, promises: Mapping[str, Check] = PROMISES) -> Iterator[LearnerFinding]:
    """Try one promise after the other. What a learner raises is what was found of it, and it is said once.

    A promise that ends as an earlier one did was not tried: nothing is known of it until the cause is mended.
    """
    first = dict[str, str]()
    for promise, check in promises.items():
        match _tried(check, trial):
            case NotTried(why=why):
                yield LearnerFinding(promise, "not tried", why)
            case None:
                yield LearnerFinding(promise, "kept", "")
            case _Breach(cause=cause) if cause in first:
                yield LearnerFinding(promise, "not tried", f"because of what stands at: {first[cause]}")
            case _Breach(words=words, cause=cause):
                first[cause] = promise
                yield LearnerFinding(promise, "broken", words)


def _tried(check: Check, trial: Trial) -> _Breach | NotTried | None:
    try:
        found = check(trial)
    except UnclippableModule as error:  # foreign draws look as if the network mixed examples
        return _tried(foreign_draws, trial) or _breach(f"{type(error).__name__}: {error}")
    except SiloSealError as error:
        return _breach(f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 (it is a user's class)
        frames, raised = traceback.extract_tb(error.__traceback__), type(error).__name__
        at = next((frame for frame in reversed(frames) if _is_the_users(frame.filename)), frames[-1])
        place = f"{at.filename}:{at.lineno}"
        return _Breach(f"raises {raised}: {error} (at {place})", f"{raised} at {place}")  # words may name the batch
    return found if isinstance(found, NotTried) else _breach(found)


def _breach(words: str) -> _Breach | None:
    return _Breach(words, words) if words else None


def _is_the_users(file: str) -> bool:
    return not any(folder in file for folder in (*INSTALLED, str(Path(__file__).parents[2])))
