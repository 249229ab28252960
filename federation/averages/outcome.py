"""What a job of averages leaves at the aggregator: averages.json, which holds no value of any module."""

from pydantic import Field

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.config.section import Section

AVERAGES_FILE = "averages.json"
WITHOUT_NOISE = (
    "no differential privacy: each average opens without noise, to the aggregator and to all silos; whoever needs a "
    "guarantee adds noise in the training, or runs a job that trains"
)


class AverageMade(Section):
    """One average of the run."""

    number: int = Field(description="number of the average, from 1")
    contributors: tuple[str, ...]
    error_bound: float


class Averages(Section):
    """The content of averages.json."""

    name: str
    job: str = Field(description="digest of the job")
    averages: tuple[AverageMade, ...]
    ended: str = Field(description="why there were no more")
    secure_sum: str
    who_learns_what: dict[str, str]
    guarantee: str

    def to_json(self) -> bytes:
        """The bytes of the file."""
        return self.model_dump_json(indent=2).encode()


def made(mean: Mean) -> AverageMade:
    """The line of one average."""
    return AverageMade(number=mean.round + 1, contributors=mean.contributors, error_bound=mean.error_bound)


def averages_of(job: AverageJob, found: tuple[AverageMade, ...], ended: str) -> Averages:
    """The averages of a run that is over, with who learns what from each of them."""
    scheme, silos = job.secure_sum.build(), len(job.silos.names)
    return Averages(
        name=job.name,
        job=job.digest.hex(),
        averages=found,
        ended=ended,
        secure_sum=scheme.name,
        who_learns_what=scheme.exposure.rows(silos, job.quorum),
        guarantee=WITHOUT_NOISE,
    )
