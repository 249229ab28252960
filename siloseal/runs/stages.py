"""How long the stages of a job are, for whoever shows progress."""

from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart, PublicStart


def stage_lengths(job: Job) -> dict[str, int]:
    """Length of each stage: fitting steps, training steps of all silos, or rounds."""
    lengths = dict[str, int]()  # a cold start has no stage
    match job.warm_start:
        case KernelMeanStart(fit_steps=steps) | PublicStart(fit_steps=steps) | LeaderStart(steps=steps):
            lengths = {Phase.WARM_START: steps}
    match job.schedule:
        case TwoPhase(local_steps=steps, tuning_rounds=rounds):
            return {**lengths, Phase.PHASE_1: steps * len(job.silos.names), Phase.PHASE_2: rounds}
        case FedAvg(rounds=rounds):
            return {**lengths, Phase.FEDAVG: rounds}


def phase_of(job: Job, stage: str) -> str:
    """The phase that ends with the model of this stage: one of rounds for the model of a round."""
    if not stage.startswith("round_"):
        return stage
    return Phase.FEDAVG if isinstance(job.schedule, FedAvg) else Phase.PHASE_2


def round_of(stage: str) -> int | None:
    """The number of the round that ends with the model of this stage; None for other stages."""
    return int(stage.removeprefix("round_")) if stage.startswith("round_") else None
