"""Who watches a run. Nothing that it learns flows back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Model = NDArray[np.float32]
Shape = tuple[int, int, int]


class Observer:
    """Sees nothing; whoever wants to see something overrides it. Replies are accepted in threads that bring them."""

    def stage(self, stage: str) -> None:
        """A stage begins."""

    def asked(self, number: int, what: str, silos: Sequence[str], request_digests: Sequence[bytes], size: int) -> None:
        """A request goes out to these silos, of `size` bytes in all."""

    def accepted(self, number: int, silo: str, reply_digest: bytes, size: int) -> None:
        """A reply is in the journal."""

    def replayed(self) -> None:
        """The replies to the next request are in the journal: everything up to here has been told before a restart."""

    def goes_on(self) -> None:
        """What the journal had is over: from here on everything is new."""

    def refused(self, number: int, silo: str, error: str) -> None:
        """A silo will not do what it was asked."""

    def kept(self, number: int, silo: str, reply_digest: bytes, size: int) -> None:
        """The journal had this reply after a restart. Whether it was `accepted` before, a kill may have left open."""

    def silent(self, number: int, silos: Sequence[str]) -> None:
        """The run goes on without these."""

    def enrolled(self, image_shape: Shape, classes: int) -> None:
        """What the silos' data look like."""

    def fitting(self, step: int, steps: int) -> None:
        """The aggregator fits the first generator."""

    def spent(self, silo: str, epsilon: float) -> None:
        """A silo's ledger stands at this much, rounded up."""

    def model(self, stage: str, model: Model) -> None:
        """A stage ends with this global model."""
