"""What a run promises, to whom, and on what: the rows of its report about protection and parameters."""

import math
from collections.abc import Mapping

from siloseal.federation.job.contributions import model_domain, model_scheme, sketch_domain, sketch_scheme
from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import FEDAVG, PHASE_1, PHASE_2, WARM_START
from siloseal.federation.job.planning import Lengths, plan_silo
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart
from siloseal.federation.privacy.accounting import RENYI, epsilon_text, tightest_epsilon
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator
from siloseal.federation.sums.config import opens_what_it_is_given
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeyConfig
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain
from siloseal.models.building import feature_map, vector_lengths
from siloseal.runs.metrics import ProtectionMetric, phase_title
from siloseal.runs.result import Finished
from siloseal.silo.data.labelled_images import LabelledImages
from siloseal.silo.data.units import count_units
from siloseal.silo.ledger import Ledger

Ledgers = Mapping[str, Ledger | None]
Parts = Mapping[str, LabelledImages]


def baseline_warnings(job: Job) -> list[str]:
    """What the sums that are here to be compared with do not protect from."""
    sums = [job.secure_sum, *([job.schedule.tuning_sum] if isinstance(job.schedule, TwoPhase) else [])]
    one_key = sorted({config.kind for config in sums if opens_what_it_is_given(config)})
    warnings = [
        f"{kind} is a baseline: every silo holds the whole key, one of them and the aggregator read every upload, and "
        "so does an aggregator that lies."
        for kind in one_key
    ]
    if any(isinstance(config, JointKeyConfig) for config in sums):
        warnings.append(
            "ckks_joint_key is a baseline: it assumes that silos follow the protocol. One that uploads a malformed "
            "ciphertext and the aggregator together read every upload."
        )
    return warnings


def protection(job: Job, finished: Finished) -> list[ProtectionMetric]:
    """What each phase uploads, and who sees it."""
    lengths = _lengths(job, finished)
    uploads = list[tuple[str, str, SecureSum]]()
    if isinstance(job.warm_start, KernelMeanStart):
        uploads.append((WARM_START, "kernel mean of each silo", sketch_scheme(job, lengths.sketch)))
    elif isinstance(job.warm_start, LeaderStart):
        uploads.append((WARM_START, f"model of {job.warm_start.silo}", model_scheme(job, WARM_START, lengths.model)))
    of_phase = {PHASE_1: "model and size", PHASE_2: "tuned model and size", FEDAVG: "networks and size"}
    for phase in _phases(job):
        what = "clipped update" if isinstance(job.privacy, SiloLevel) else of_phase[phase]
        uploads.append((phase, f"{what} of each silo", model_scheme(job, phase, lengths.model)))
    return [
        ProtectionMetric(
            stage=stage,
            what=what,
            scheme=scheme.name,
            hidden_from_aggregator=scheme.hides_contributions,
            note="the aggregator learns the sum only" if scheme.hides_contributions else _exposure(job, scheme),
        )
        for stage, what, scheme in uploads
    ]


def _exposure(job: Job, scheme: SecureSum) -> str:
    if isinstance(scheme, NoisySum) and isinstance(scheme.mechanism, GaussianAtAggregator):
        return "in clear, and without noise: the aggregator sees each silo's upload, and is trusted to noise their sum"
    if isinstance(job.privacy, SiloLevel):
        return "not hidden: the aggregator can read each silo's update, which is differentially private on its own"
    protected = not isinstance(job.privacy, NoPrivacy)
    rest = "it is differentially private, sizes aside" if protected else "and nothing else protects it"
    return f"not hidden: the aggregator can read each silo's upload and size; {rest}"


def parameters(job: Job, parts: Parts, ledgers: Ledgers, finished: Finished) -> dict[str, str]:
    """What the guarantees of a run rest on, for the report."""
    plans = [plan_silo(job, name, count_units(job, part), _lengths(job, finished)) for name, part in parts.items()]
    rows = {"parameters of the shared model": f"{finished.parameters:,}", **_sums(job, finished)}
    if isinstance(job.privacy, NoPrivacy):
        return {**rows, "privacy": "off"}
    guarantee = guarantee_of(job)
    words = {
        "unit of privacy": guarantee.unit,
        "neighbouring relation": guarantee.relation,
        "accountant": _accountant([ledger for ledger in ledgers.values() if ledger is not None]),
        "noise": guarantee.noise,
        "clip norm": f"{job.privacy.clip_norm:g}",
    }
    if isinstance(job.privacy, SiloLevel):
        return {**rows, **words}
    noise = [plan.step_noise for plan in plans if plan.step_noise is not None]
    rates = [plan.sampling_rate for plan in plans]
    return {
        **rows,
        **words,
        "sampling": f"Poisson, rate {min(rates):.4f} to {max(rates):.4f}, from the operating system's generator",
        "noise multiplier of a step": f"{min(noise):.3f} to {max(noise):.3f}" if noise else "no steps",
        "noise of a step": "Gaussian, single precision, AES-256 keyed by the operating system",
    }


def _accountant(ledgers: list[Ledger]) -> str:
    """What the ledgers enforce, and what a tighter and slower count makes of the largest of them."""
    words = "Renyi (dp-accounting), one composition over all phases"
    largest = max(ledgers, key=lambda ledger: ledger.epsilon)
    epsilon, how = tightest_epsilon([charge.event for charge in largest.charges], largest.budget.delta)
    return words if how == RENYI else f"{words}; {how} count epsilon {epsilon_text(epsilon)} for {largest.silo}"


def _lengths(job: Job, finished: Finished) -> Lengths:
    return vector_lengths(job, finished.image_shape, finished.classes)


def _phases(job: Job) -> tuple[str, ...]:
    """Those that end with a sum of models."""
    match job.schedule:
        case TwoPhase(tuning_rounds=rounds):
            return (PHASE_1, PHASE_2) if rounds else (PHASE_1,)
        case FedAvg():
            return (FEDAVG,)


def _sums(job: Job, finished: Finished) -> dict[str, str]:
    """What the protection of each phase's sum rests on."""
    silos, crowd = len(job.silos.names), job.schedule.crowd(len(job.silos.names))
    model = model_domain(job, finished.parameters)
    used, total = list[tuple[str, SecureSum, RealDomain, int]](), 0.0
    if isinstance(job.warm_start, KernelMeanStart):
        features = feature_map(job, job.warm_start, finished.image_shape, finished.classes)
        used.append((WARM_START, sketch_scheme(job, features.length), sketch_domain(job, features.length), silos))
    used += [(phase, model_scheme(job, phase, finished.parameters), model, crowd) for phase in _phases(job)]
    rows = dict[str, str]()
    for phase, scheme, domain, count in used:
        title = f"sum of {phase_title(phase).lower()}"
        rows[title] = scheme.name
        rows |= {f"{title}, {name}": value for name, value in scheme.describe(domain, count).items()}
        total += _sums_in(job, phase) * scheme.statistical_distance(domain, count)
    if total:
        rows["statistical distance of all sums"] = (
            f"2^{math.log2(total):.1f}: with that probability at most some sum of the run tells more than its total, "
            "added up over all of them"
        )
    return rows


def _sums_in(job: Job, phase: str) -> int:
    """Number of sums that a phase has."""
    match job.schedule:
        case TwoPhase(tuning_rounds=rounds) if phase == PHASE_2:
            return rounds
        case FedAvg(rounds=rounds) if phase == FEDAVG:
            return rounds
    return 1
