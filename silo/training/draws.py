"""Random numbers that a network draws in a private step: dropout's masks, a variational autoencoder's noise.

They come from torch's generators, of which the process has one a device. That of the CPU has a seed of 32 bits, which
a network's own file may set. And a row's draw goes by its place in a pass: with one unit less, others get other draws.
Whoever knew the draws would see one unit move a clipped sum by many clip norms. So every private step draws from fresh
states, which nobody knows.

Why the booked guarantee then holds. The draws of one step are independent of all else, and have one distribution for
every row, whatever its place. Give each unit the same draw in both worlds, with it and without it: neither world's
distribution changes by that (a coupling). For each value of the draws the two sums differ by at most the clip norm, so
noise hides the difference as booked; and the divergence of two mixtures with the same weights is at most the largest
of their parts' (joint convexity). Draws that the attacker learns afterwards would break it, so they are not told: after
the step, the generators go on from where they were.

A premise, and no theorem: that a generator's stream looks random beyond its state. The state is fresh and whole, 19,937
bits of the Mersenne Twister on a CPU. Its first 623 words are then uniform and independent; later ones follow from
them, linearly, so that a cryptographer would choose another generator.
"""

from torch import nn

from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.gan.learner import GanLearner
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.models.meta.learners import EmbeddingLearner, ReptileLearner, TaskLossLearner
from siloseal.silo.training.clipping.plain import is_plain

OURS = (ClassifierLearner, EmbeddingLearner, GanLearner, ReptileLearner, TaskLossLearner)
"""Learners that draw from no generator of torch's process themselves; a subclass may."""

OUR_NETWORKS = "siloseal.models."
"""Package of networks that draw while they are built, and never when they run."""

QUIET_NAMES = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d
Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding Linear
GRUCell LSTMCell RNNCell
CELU ELU GELU GLU Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 SELU SiLU
Sigmoid Softmax Softplus Softsign Tanh Tanhshrink
ConstantPad1d ConstantPad2d ConstantPad3d Flatten Identity PixelShuffle Unflatten Upsample ZeroPad1d ZeroPad2d ZeroPad3d
GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm RMSNorm ModuleDict ModuleList Sequential
"""
QUIET = frozenset(getattr(nn, name) for name in QUIET_NAMES.split())
"""Torch's layers that never draw when they run. One that is missing here costs time, and nothing else."""


def may_draw(learner: ExampleLearner | TaskLearner) -> bool:
    """Whether anything may be drawn in a step of this learner, by a layer that is not known or by a user's own code.

    No trial on made-up rows says that a user's code draws nothing on real ones. So only what is known to draw nothing
    may run beside other threads' draws.
    """
    if type(learner) not in OURS:
        return True
    return not all(is_plain(network) and all(map(_is_quiet, network.modules())) for network in _networks(learner))


def _networks(learner: ExampleLearner | TaskLearner) -> tuple[nn.Module, nn.Module]:
    """The networks that run in a step: a GAN's fakes come from beside the one that it shares, which is built alike."""
    return learner.private_module, learner.shared_model


def _is_quiet(part: nn.Module) -> bool:
    return type(part) in QUIET or type(part).__module__.startswith(OUR_NETWORKS)
