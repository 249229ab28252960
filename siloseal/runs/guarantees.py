"""What a run guarantees, to whom, and on what: the rows of its report about protection and parameters."""

import math
from collections.abc import Mapping, Sequence

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.guarantee import analytics_guarantee
from siloseal.federation.analytics.releases import query_releases
from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sums
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.planning import plan_silo
from siloseal.federation.job.releases import Content, Lengths, Release, by_phase, releases
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.privacy.guarantee import Guarantee
from siloseal.federation.sums.exposure import Exposure, NoisedBy
from siloseal.models.building import vector_lengths
from siloseal.models.user_code.loading import found_code
from siloseal.run_folder.metrics import ProtectionMetric, phase_title
from siloseal.runs.result import RunResult
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.units import count_units
from siloseal.silo.ledger import Ledger

Ledgers = Mapping[str, Ledger | None]
Parts = Mapping[str, Examples]
CountedReleases = Sequence[tuple[Release, int]]
"""A release that stands for several, and how many they are: those of one phase, or of one query."""


def baseline_warnings(job: Job) -> list[str]:
    """Warnings about the job's sums that are baselines: what the aggregator learns, and what they assume."""
    exposures = {found.config.kind: found.config.build().exposure for found in phase_sums(job)}
    return [
        f"{kind} is a baseline. The aggregator learns {exposure.aggregator_learns}. It assumes "
        f"{exposure.assumes or 'nothing'}. Silos that may collude with the aggregator: {exposure.colluders}."
        for kind, exposure in sorted(exposures.items())
        if exposure.baseline
    ]


_MODELS = {
    Phase.PHASE_1: "model and size of each silo", Phase.FEDAVG: "networks and size of each silo",
    Phase.PHASE_2: "tuned model and size of each silo",
}  # fmt: skip


def protection(releases: CountedReleases, *, private: bool) -> list[ProtectionMetric]:
    """What each phase, or each query, uploads, and who sees it."""
    return [
        ProtectionMetric(
            stage=release.phase,
            what=_uploaded(release),
            scheme=release.scheme.name,
            hidden_from_aggregator=release.scheme.exposure.hides_contributions,
            note=_note(release.scheme.exposure, private=private),
        )
        for release, _ in releases
    ]


def _uploaded(release: Release) -> str:
    match release.content:
        case Content.KERNEL_MEAN:
            return "kernel mean of each silo"
        case Content.UPDATE:
            return "clipped update of each silo"
        case Content.COUNTS:
            return "counts of each silo"
        case Content.MODEL if release.phase == Phase.WARM_START:
            return f"model of {release.roster[0]}"
        case _:
            return _MODELS[Phase(release.phase)]


def _note(exposure: Exposure, *, private: bool) -> str:
    """What the aggregator learns; and what protects an upload that neither its sum nor a mechanism protects."""
    learns = f"the aggregator learns {exposure.aggregator_learns}"
    assumes = f"; assumes {exposure.assumes}" if exposure.assumes else ""
    if exposure.hides_contributions:
        return f"{learns} only{assumes}"
    if exposure.noised_by is not NoisedBy.NOBODY:
        return f"not hidden: {learns}{assumes}"
    rest = "each is differentially private, sizes aside" if private else "and nothing else protects it"
    return f"not hidden: {learns}, and its size; {rest}"


def parameters(job: Job, parts: Parts, ledgers: Ledgers, finished: RunResult) -> dict[str, str]:
    """What the guarantees of a run rest on, for the report."""
    plans = [
        plan_silo(job, name, count_units(job, part), _lengths(job, finished), examples=len(part))
        for name, part in parts.items()
    ]
    code = {} if job.learner.code is None else {"code of the learner": str(found_code(job.learner.code))}
    shared = {"parameters of the shared model": f"{finished.parameters:,}"}
    rows = {**shared, **code, **_sums(training_releases(job, finished))}
    if isinstance(job.privacy, NoPrivacy):
        return {**rows, "privacy": "off"}
    words = {**_privacy(guarantee_of(job), ledgers), "clip norm": f"{job.privacy.clip_norm:g}"}
    if isinstance(job.privacy, SiloLevel):
        return {**rows, **words}
    noise = [plan.step_noise for plan in plans if plan.step_noise is not None]
    rates = [plan.sampling_rate for plan in plans]
    if not rates:  # the aggregator does not know how many units a silo has
        return {**rows, **words}
    return {
        **rows,
        **words,
        "sampling": f"Poisson, rate {_range(rates, 4)}, from the operating system's generator",
        "noise multiplier of a step": _range(noise, 3) if noise else "no steps",
        "noise of a step": "rounded Gaussian, exact on a grid, AES-256 keyed by the operating system",
    }


def _range(values: Sequence[float], digits: int) -> str:
    """The smallest and the largest value, or the one number that both are in so many digits."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def query_parameters(job: AnalyticsJob, ledgers: Ledgers) -> dict[str, str]:
    """What the guarantees of a run of queries rest on: what their sums share once, and the rest query by query."""
    found = by_phase(query_releases(job))
    described = {release.phase: _described(release) for release, _ in found}
    first, *others = described.values()
    shared = {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}
    rows = _titled("sum of every query", shared)
    for query, one in described.items():
        rows |= _titled(f"sum of {query}", {name: value for name, value in one.items() if name not in shared})
    return {**rows, **_distance(found), **_privacy(analytics_guarantee(job), ledgers)}


def _privacy(guarantee: Guarantee, ledgers: Ledgers) -> dict[str, str]:
    return {
        "unit of privacy": guarantee.unit,
        "neighbouring relation": guarantee.relation,
        "accountant": _accountant([ledger for ledger in ledgers.values() if ledger is not None], guarantee.over),
        "noise": guarantee.noise,
    }


def _accountant(ledgers: list[Ledger], over: str) -> str:
    """How the ledgers count, and over what."""
    found = dict.fromkeys(str(ledger.counted.accountant) for ledger in ledgers)
    return f"{' or '.join(found) or 'that of each ledger'} (dp-accounting), one composition over {over}"


def training_releases(job: Job, finished: RunResult) -> CountedReleases:
    """The first release of each phase of a finished run, and the number of releases of the phase."""
    return by_phase(releases(job, _lengths(job, finished)))


def _lengths(job: Job, finished: RunResult) -> Lengths:
    return vector_lengths(job, finished.shape, finished.classes)


def _sums(releases: CountedReleases) -> dict[str, str]:
    """What the protection of each phase's sum rests on. A sum of one protects nothing, and is left out."""
    sums, rows = [(release, count) for release, count in releases if not _of_one(release)], dict[str, str]()
    for release, _ in sums:
        rows |= _titled(f"sum of {phase_title(release.phase).lower()}", _described(release))
    return {**rows, **_distance(sums)}


def _of_one(release: Release) -> bool:
    return release.phase == Phase.WARM_START and release.content is Content.MODEL


def _described(release: Release) -> dict[str, str]:
    """What the protection of one sum rests on: its scheme, its parameters, and who learns what."""
    scheme, silos = release.scheme, len(release.roster)
    exposed = scheme.exposure.rows(silos, release.quorum)
    return {"scheme": scheme.name, **scheme.describe(release.domain, silos), **exposed}


def _titled(title: str, described: dict[str, str]) -> dict[str, str]:
    return {title if name == "scheme" else f"{title}, {name}": value for name, value in described.items()}


def _distance(releases: CountedReleases) -> dict[str, str]:
    """The statistical distance of all releases together; nothing where every sum is perfectly hidden."""
    total = sum(n * r.scheme.statistical_distance(r.domain, len(r.roster)) for r, n in releases)
    if not total:
        return {}
    words = "with that probability at most some sum of the run tells more than its total, added up over all of them"
    return {"statistical distance of all sums": f"2^{math.log2(total):.1f}: {words}"}
