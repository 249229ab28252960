"""Imported by the server that parties are forked from: what each of them would otherwise import and compute anew.

A silo's plan evaluates a dozen Renyi curves, which are then cached: a second, at each of a hundred restarts.
"""

import siloseal.cli.event_lines
import siloseal.report.run_report
import siloseal.runs.deployment  # noqa: F401
import tests.deployment.parties  # noqa: F401
from siloseal.federation.job.job import Job
from siloseal.federation.job.planning import plan_silo
from siloseal.models.building import vector_lengths
from tests.conftest import SMALL_JOB
from tests.deployment.conftest import EXAMPLES, KERNEL_MEAN, PRIVACY, SHORT

for warm_start in (SMALL_JOB["warm_start"], KERNEL_MEAN):
    job = Job.model_validate({**SMALL_JOB, "schedule": SHORT, "privacy": PRIVACY, "warm_start": warm_start})
    for silo, examples in EXAMPLES.items():
        plan_silo(job, silo, examples, vector_lengths(job, (1, 8, 8), 10))
