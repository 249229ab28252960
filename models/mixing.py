"""What mixes the examples of a batch, or lets them change the network past the noise: refused by name."""

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from siloseal.federation.errors import UnclippableModule


def refuse_mixing(module: nn.Module) -> None:
    """Raise `UnclippableModule` for a layer that is known to mix rows. What no name tells, a probe on rows must."""
    for name, part in module.named_modules():
        if reason := _reason(part):
            raise UnclippableModule(f"layer '{name}' is {type(part).__name__}, which {reason}")


def _reason(part: nn.Module) -> str | None:
    match part:
        case _BatchNorm() if part.training or not part.track_running_stats:
            return (
                "mixes the rows of a batch, so no row's influence can be clipped; use GroupNorm, which a classifier's "
                "learner.batch_norm: group_norm puts in its place, or, with fixed statistics, eval mode"
            )
        case _InstanceNorm() if part.training and part.track_running_stats:
            return (
                "keeps running statistics of the rows, which no noise hides; give it track_running_stats=False, or use "
                "GroupNorm"
            )
        case nn.Embedding() | nn.EmbeddingBag() if part.max_norm is not None:
            return (
                f"has max_norm={part.max_norm:g} and so rescales the weights of the words that rows hold, past clip "
                "and noise; leave max_norm out"
            )
        case nn.Embedding() | nn.EmbeddingBag() if part.scale_grad_by_freq:
            return "has scale_grad_by_freq=True: a row's gradient depends on the words of the other rows; leave it out"
        case nn.Embedding() | nn.EmbeddingBag() if part.sparse:
            return "has sparse=True, but private gradients are dense: noise reaches every word; leave it out"
        case _:
            return None
