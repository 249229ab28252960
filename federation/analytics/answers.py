"""What a job of queries leaves behind: answers.json, with the guarantee that all of them have together."""

from pydantic import Field

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.guarantee import analytics_guarantee
from siloseal.federation.analytics.query import Answer
from siloseal.federation.analytics.releases import planned
from siloseal.federation.config.section import Section

ANSWERS_FILE = "answers.json"
INTERVALS = (
    "95 % intervals, each on its own, are about the noise: they hold the figure of the silos' pooled records, and say "
    "nothing about a wider population"
)


class Answers(Section):
    """The content of answers.json."""

    name: str
    job: str = Field(description="digest of the job")
    answers: tuple[Answer, ...]
    epsilon: float
    delta: float
    guarantee: str
    intervals: str = INTERVALS

    def to_json(self) -> bytes:
        """The bytes of the file."""
        return self.model_dump_json(indent=2).encode()


def answers_of(job: AnalyticsJob, answers: tuple[Answer, ...]) -> Answers:
    """The answers with the guarantee that they have together.

    Epsilon is what was planned, and not what was charged: whether a query ended early depends on the data.
    """
    cost, delta = planned(job), job.privacy.delta
    stated = analytics_guarantee(job).statement(cost.epsilon, delta, accounting=cost.accountant)
    return Answers(
        name=job.name,
        job=job.digest.hex(),
        answers=answers,
        epsilon=cost.epsilon,
        delta=delta,
        guarantee=f"{stated} What other runs on the same records cost comes on top.",
    )
