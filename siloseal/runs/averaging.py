"""Runs in which the silos' own scripts average what they train: over the network, or all in one process."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from siloseal.aggregator.averages import AggregatorAverages
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import placed
from siloseal.federation.errors import RunError, SiloRefused, SiloSealError
from siloseal.federation.printable import printable
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.silo import DialDelayed, JobRefused, ReplyDelivered, RequestAnswered
from siloseal.federation.run_events.stream import RunEvent, Subscriber, unheard
from siloseal.runs.averaging_session import AveragingSession
from siloseal.runs.deployment import open_silo
from siloseal.runs.simulation import Home, coordinate, open_each
from siloseal.silo.config import SiloConfig
from siloseal.silo.deployed import FAREWELL_SECONDS, DeployedSilo
from siloseal.silo.handover import Handover
from siloseal.silo.opening import open_averaging_silo
from siloseal.silo.runtime import Silo

Result = TypeVar("Result")

LAST_REPLY_SECONDS = 2 * FAREWELL_SECONDS
"""Time for which a script that is over waits for an aggregator that fetches neither last reply nor refusal."""


def simulate_scripts(
    script: Callable[[AveragingSession], Result], job: AverageJob, folder: Path, publish: Subscriber = unheard
) -> dict[str, Result]:
    """Run the script once for each silo, each in a thread of this process, and return what each run returned.

    The first error, of a script or of the run, ends all of them and is raised.
    """
    scripts = _Scripts(job)

    def run(name: str) -> Result:
        with scripts.ending_all(f"the script of {name} has failed"):
            result = script(AveragingSession(name, scripts.handovers[name]))
            scripts.handovers[name].leave()
            return result

    def serve() -> None:
        with scripts.ending_all("the run has failed"):
            coordinate(job, AggregatorAverages(job, publish), silos, folder, publish, workers=len(silos))

    with open_each(job.silos.names, folder, scripts.open) as silos, ThreadPoolExecutor(len(silos) + 1) as pool:
        served, runs = pool.submit(serve), {name: pool.submit(run, name) for name in silos}
        with scripts.ending_all("the simulation was interrupted"):
            wait(runs.values())
            wait([served])
    if scripts.error is not None:
        raise scripts.error
    return {name: future.result() for name, future in runs.items()}


class _Scripts:
    """The handovers of all scripts of one process, which end together when one of them fails."""

    def __init__(self, job: AverageJob) -> None:
        self._job = job
        self.handovers = {name: Handover() for name in job.silos.names}
        self.error: BaseException | None = None
        """The first error; what fails after it follows from it."""

    def open(self, home: Home) -> Silo:
        """The silo that averages what one of the scripts hands over."""
        return open_averaging_silo(
            self._job,
            self.handovers[home.name],
            home.folder,
            identity=home.identity,
            roster=home.roster,
            randomness=SecureRandomness(),
        )

    @contextmanager
    def ending_all(self, words: str) -> Iterator[None]:
        """End everything if what happens here fails: nobody must wait for a thread that is gone."""
        try:
            yield
        except BaseException as error:
            self.error = self.error or error
            for handover in self.handovers.values():
                handover.end(error if isinstance(error, SiloSealError) else RunError(words))
                handover.abandon()
            raise


@contextmanager
def deployed_session(path: Path) -> Iterator[AveragingSession]:
    """A session over the network, with the identity, roster and certificates of this silo.yaml.

    A thread serves the aggregator for as long as the session is open. A script that ends well waits for the end of the
    run; one that fails leaves a silent silo behind, which goes on with the run when the script is started again.
    """
    config, handover = placed(load_config(SiloConfig, path), path.resolve().parent), Handover()
    told = _Told(handover)
    with open_silo(config, told.hear, script=handover) as silo:
        told.silo = silo
        thread = threading.Thread(target=_serve, args=(silo, handover), name=f"silo {config.name}", daemon=True)
        thread.start()
        try:
            yield AveragingSession(config.name, handover)
            handover.leave()
            thread.join()
        finally:
            if handover.ended:  # the thread ends by itself, when the aggregator has the last reply or the refusal
                thread.join(LAST_REPLY_SECONDS)
            else:
                handover.abandon()
            silo.stop()
            thread.join()


def _serve(silo: DeployedSilo, handover: Handover) -> None:
    """Serve until the run is over. What ends it before that ends the script, too."""
    try:
        silo.serve()
    except SiloSealError as error:
        handover.end(error)
    finally:
        handover.end(RunError("the silo has stopped serving"))  # whatever else it was: nobody waits for it


class _Told:
    """A subscriber that tells a script what keeps its silo from taking part."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._words = "this silo has refused what the aggregator asked for; its refusals.log says why"
        self._refused = False
        self.silo: DeployedSilo | None = None

    def hear(self, event: RunEvent) -> None:
        """Follow the silo. A refusal ends the script once the aggregator has it: the others must hear of it."""
        match event:
            case DialDelayed(reason, seconds):
                print(printable(f"waiting: {reason}; dials again in {seconds:g} s"), file=sys.stderr, flush=True)
            case JobRefused(words=words):
                self._words = words
            case RequestAnswered(answer="refusal"):
                self._refused = True
            case ReplyDelivered() if self._refused and self.silo is not None:
                self._handover.end(SiloRefused(self._words))
                self.silo.stop()
