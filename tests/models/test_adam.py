"""Adam has torch's numbers, and none of its compiler."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.adam import Adam


def network() -> nn.Module:
    """Weights of several shapes, one of them in another layout."""
    torch.manual_seed(0)
    convolution = nn.Conv2d(3, 4, 3, padding=1).to(memory_format=torch.channels_last)
    return nn.Sequential(convolution, nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))


def losses(module: nn.Module) -> Callable[[int], Tensor]:
    inputs, labels = torch.randn(8, 3, 6, 6, generator=torch.Generator().manual_seed(1)), torch.arange(8) % 5
    return lambda step: functional.cross_entropy(module(inputs * (1 + step % 3)), labels)


@pytest.mark.parametrize(("betas", "decay"), [((0.9, 0.999), 0.01), ((0.5, 0.999), 0.0)])
def test_the_numbers_are_those_of_torch_bit_for_bit(betas: tuple[float, float], decay: float) -> None:
    ours, theirs = network(), network()
    optimizer, peer = Adam(ours.parameters(), betas=betas, decay=decay), torch.optim.AdamW(
        theirs.parameters(), betas=betas, weight_decay=decay
    )  # fmt: skip
    our_loss, their_loss = losses(ours), losses(theirs)
    for step in range(30):
        rate = 0.01 / (1 + step)
        optimizer.step(our_loss(step), learning_rate=rate)
        peer.param_groups[0]["lr"] = rate
        peer.zero_grad()
        torch.autograd.backward(their_loss(step))
        peer.step()
    for part, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=0)
        assert part.grad is None


def test_a_state_goes_on_where_it_was_taken() -> None:
    module = network()
    optimizer, loss = Adam(module.parameters()), losses(module)
    for step in range(3):
        optimizer.step(loss(step), learning_rate=0.01)
    kept = {name: tensor.clone() for name, tensor in optimizer.state().items()}
    weights = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    optimizer.step(loss(3), learning_rate=0.01)
    after = [part.clone() for part in module.parameters()]

    module.load_state_dict(weights)
    optimizer.restart()
    optimizer.load_state(kept)
    optimizer.step(loss(3), learning_rate=0.01)
    assert all(torch.equal(part, other) for part, other in zip(module.parameters(), after, strict=True))


def test_a_step_imports_no_compiler() -> None:
    program = (
        "import sys, torch; from siloseal.models.adam import Adam; w = torch.nn.Parameter(torch.ones(2));"
        "Adam([w]).step(w.sum(), learning_rate=0.1); print('torch._dynamo' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"
