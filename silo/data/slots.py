"""Where images meet in tasks: the slots, which follow from public counts, and the one slot that each image joins.

Nothing here lets one image decide where another one goes. Slots follow from the numbers of images of each class, which
count as public, and from the job's seed. An image joins a slot of its class by a hash of what it shows.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DataError

Slot = tuple[int, ...]
"""The labels of the classes that a slot's task is of."""


def slots_of(counts: Mapping[int, int], *, ways: int, images: int, seed: int) -> list[Slot]:
    """The most slots of `ways` classes that there can be, where a class of n images is in at most n // images of them.

    Classes are drawn in proportion to how often each may still come, with the same random numbers whatever the counts
    are. So a count that falls by one changes nothing, as long as the quotient stays; where the quotient falls by one
    too, a few slots get another class and there may be one slot less.
    """
    labels = np.array(sorted(counts), dtype=np.int64)
    left = np.array([counts[label] // images for label in labels.tolist()], dtype=np.int64)
    require_classes(int((left > 0).sum()), ways=ways, images=images)
    generator, slots = np.random.default_rng(seed), list[Slot]()
    for remaining in range(_most_slots(left, ways), 0, -1):
        # The smallest of exponentials with rates w is index i with probability w_i / sum(w).
        with np.errstate(divide="ignore"):
            waits = generator.standard_exponential(len(left)) / left
        # A class that may come in all remaining slots has to, or the last ones would find too few classes: if each
        # such class is taken, or `ways` of them, sum(min(left, remaining)) >= ways * remaining holds from slot to slot.
        chosen = np.lexsort((waits, left < remaining))[:ways]
        left[chosen] -= 1
        slots.append(tuple(labels[chosen].tolist()))
    return slots


def _most_slots(left: NDArray[np.int64], ways: int) -> int:
    """The largest T with sum(min(left, T)) >= ways * T: no class is in a slot twice, and T slots take `ways` each."""
    most = int(left.sum()) // ways
    return next(slots for slots in range(most, -1, -1) if int(np.minimum(left, slots).sum()) >= ways * slots)


def digest_of(image: NDArray[np.float32], *, seed: int) -> bytes:
    """A hash of what an image shows, keyed by the job's seed."""
    return hashlib.blake2b(image.tobytes(), key=seed.to_bytes(8), digest_size=32).digest()


def slot_joined(digest: bytes, open_slots: Sequence[int]) -> int:
    """The one of these slots that the image with this digest joins: where its own random number is highest.

    When a slot opens or closes, only images that join or leave that one move (rendezvous hashing, Thaler and
    Ravishankar 1998).
    """
    stream = hashlib.shake_128(digest).digest(8 * (max(open_slots) + 1))
    numbers = np.frombuffer(stream, dtype="<u8")[list(open_slots)]
    return open_slots[int(numbers.argmax())]


def require_classes(found: int, *, ways: int, images: int) -> None:
    """`DataError` where fewer classes than a task takes have the images of one task."""
    if found < ways:
        raise DataError(
            f"{found} classes have {images} images or more, but a task takes {images} images of each of {ways} "
            "classes; add images, or lower learner.ways, learner.shots or learner.queries"
        )
