"""A module's call with other tensors in the place of its trained parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call


def call_with(
    module: nn.Module,
    parameters: Mapping[str, Tensor],
    arguments: Sequence[object],
    keywords: Mapping[str, object] | None = None,
) -> Any:  # whatever the module returns
    """What the module returns with these tensors as the parameters of these names, wherever in it they stand.

    Torch would find parameters that stand in several places, too. But in a layer that has two names itself it puts the
    wrong tensor back afterwards (2.13), and the layer stays with it. So each place is given once, and torch finds none.
    """
    own = dict(module.named_parameters())
    given = {own[name]: tensor for name, tensor in parameters.items()}
    places = {
        f"{name}.{local}" if name else local: given[held]
        for name, part in module.named_modules()  # each once, whatever its names
        for local, held in part._parameters.items()
        if held is not None and held in given
    }
    return functional_call(module, places, tuple(arguments), dict(keywords or {}), tie_weights=False)
