"""The few-shot models and learners that a config names."""

from collections.abc import Sequence
from typing import assert_never

from siloseal.federation.job.sections.few_shot import EmbeddingConfig, MetaLstmConfig, ProtonetConfig, ReptileConfig
from siloseal.federation.shapes import ImageShape
from siloseal.models.initial_weights import seeded
from siloseal.models.meta.inner_loop import ReptileModel
from siloseal.models.meta.learners import EmbeddingLearner, ReptileLearner, TaskLossLearner
from siloseal.models.meta.meta_lstm import MetaLstmModel
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.prototypes import EmbeddingModel, ProtonetModel

FewShotConfig = ProtonetConfig | ReptileConfig | MetaLstmConfig | EmbeddingConfig
FewShotLearner = TaskLossLearner | ReptileLearner | EmbeddingLearner


def build_few_shot_model(config: FewShotConfig, shape: ImageShape, *, seed: int) -> FewShotModel:
    """The shared model at its initial weights."""
    match config:
        case ProtonetConfig():
            return seeded(seed, lambda: ProtonetModel(config, shape))
        case EmbeddingConfig():
            return seeded(seed, lambda: EmbeddingModel(config, shape))
        case ReptileConfig():
            return seeded(seed, lambda: ReptileModel(config, shape))
        case MetaLstmConfig():
            return seeded(seed, lambda: MetaLstmModel(config, shape))
        case _:
            assert_never(config)


def build_few_shot_learner(
    config: FewShotConfig, shape: ImageShape, *, labels: Sequence[int], seed: int
) -> FewShotLearner:
    """A learner at its initial weights, for a silo that declares these classes."""
    model = build_few_shot_model(config, shape, seed=seed)
    match model:
        case EmbeddingModel():
            return EmbeddingLearner(model, labels=labels, average_decay=config.average_decay)
        case ReptileModel():
            return ReptileLearner(model, average_decay=config.average_decay)
        case _:
            return TaskLossLearner(model, average_decay=config.average_decay)
