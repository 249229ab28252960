"""Adam on losses that are public, or private no more.

The numbers are those of `torch.optim.AdamW`, which would import torch's compiler at its first call, without a use for
it: 800 modules, 70 MiB and a second of every silo's start.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from siloseal.models.checkpoints import State, under

STABILISER = 1e-8


class Adam:
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; theta -= lr (decay theta + m^ / (sqrt(v^) + eps)).

    Here m^ = m / (1 - b1^t) and v^ = v / (1 - b2^t) in step t.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, betas: tuple[float, float] = (0.9, 0.999), decay: float = 0.0
    ) -> None:
        self._parameters = list(parameters)
        self._betas, self._decay = betas, decay
        self.restart()

    def restart(self) -> None:
        """Forget all gradients. The parameters may lie on another device by now."""
        self._first, self._second = ([torch.zeros_like(part) for part in self._parameters] for _ in range(2))
        self._steps = 0

    def step(self, loss: Tensor, *, learning_rate: float) -> None:
        """One step against the gradients of these parameters, and of no others that lead to the loss."""
        gradients = torch.autograd.grad(loss, self._parameters)
        self._steps += 1
        first_weight, second_weight = (1 - beta**self._steps for beta in self._betas)
        with torch.no_grad():
            for part, gradient, first, second in zip(
                self._parameters, gradients, self._first, self._second, strict=True
            ):
                part.mul_(1 - learning_rate * self._decay)
                first.lerp_(gradient, 1 - self._betas[0])
                second.mul_(self._betas[1]).addcmul_(gradient, gradient, value=1 - self._betas[1])
                root = (second.sqrt() / second_weight**0.5).add_(STABILISER)
                part.addcdiv_(first, root, value=-learning_rate / first_weight)

    def state(self) -> State:
        """The state, for a checkpoint, under the names that torch gives it."""
        steps = torch.tensor(float(self._steps))
        state = dict[str, Tensor]()
        for number, (first, second) in enumerate(zip(self._first, self._second, strict=True)):
            state |= under(str(number), {"step": steps, "exp_avg": first, "exp_avg_sq": second})
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        self._steps = int(state["0.step"])
        for number, (first, second) in enumerate(zip(self._first, self._second, strict=True)):
            first.copy_(state[f"{number}.exp_avg"])
            second.copy_(state[f"{number}.exp_avg_sq"])
