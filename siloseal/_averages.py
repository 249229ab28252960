"""Functions behind the names of `import siloseal` that average what a user's own script trains."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import yaml

from siloseal._arguments import AnyPath, as_path, shown
from siloseal.federation.config.loading import check_values
from siloseal.federation.errors import ConfigError

if TYPE_CHECKING:
    from torch.nn import Module

    from siloseal.federation.averages.config import AverageJob
    from siloseal.runs.averaging_session import AveragingSession, SealedAverage

Result = TypeVar("Result")


def sealed_average(
    module: "Module", *, weight: int, session: "AveragingSession", exclude: Sequence[str] | str = ()
) -> "SealedAverage":
    """Replace the module's values by their weighted average over all silos, none of which anybody sees alone.

    It waits until enough silos have called. `weight` is this silo's weight in the average, such as its number of
    examples, and stays hidden as the module does. All floating-point entries of `module.state_dict()` are averaged,
    buffers too, and changed in place; `exclude` names entries to leave out by patterns, such as "head.*". Buffers of
    other types, such as a count of batches, stay as they are.

    A value beyond the run's `largest_weight`, NaN, or a weight beyond `largest_silo` is a `ProtocolError` before
    anything is sent. Modules whose names, types or shapes differ end the run with a `RunError` that names two silos.
    After any error the module is as it was.

    No differential privacy is added. What opens is the average, to all silos and to the aggregator; whoever needs a
    guarantee adds noise in the training, or runs a job (`siloseal.simulate`).

    >>> import torch
    >>> def train(session):
    ...     value, examples = {"north": (1.0, 100), "east": (2.0, 200), "south": (6.0, 100)}[session.silo]
    ...     module = torch.nn.Linear(2, 1, bias=False)
    ...     torch.nn.init.constant_(module.weight, value)
    ...     siloseal.sealed_average(module, weight=examples, session=session)
    ...     return module.weight.detach().numpy().round(3).tolist()
    >>> siloseal.simulate_silos(train, ["north", "east", "south"])["east"]
    [[2.75, 2.75]]
    """
    from torch.nn import Module

    from siloseal.runs.averaging_session import AveragingSession

    if not isinstance(module, Module):
        raise ConfigError(f"found {shown(module)}, expected a torch.nn.Module")
    if not isinstance(session, AveragingSession):
        raise ConfigError(
            f"found {shown(session)}, expected a session; get one from siloseal.open_session or siloseal.simulate_silos"
        )
    return session.average(module, weight=weight, exclude=exclude)


def open_session(path: AnyPath) -> "AbstractContextManager[AveragingSession]":
    """Open this silo's session with the consortium whose silo.yaml this is, for `sealed_average`.

    Identity, roster, certificates and the aggregator's address are those of the file; the aggregator serves a job of
    averages, which the silo's policy must allow (`averages: true`). While the session is open, a thread of this process
    serves the aggregator; where that cannot be reached, a line on standard error says so. At the end of the `with`, it
    waits for the others' last average, because nobody can tell a silo that has left from one that was cut off.
    A script that was killed is started again, and `session.restore(module)` gives it the last average.

    >>> import torch
    >>> def main(path):
    ...     module = torch.nn.Linear(4, 2)
    ...     with siloseal.open_session(path) as session:
    ...         for epoch in range(session.restore(module), 3):
    ...             train_my_own_way(module)
    ...             siloseal.sealed_average(module, weight=len(my_data), session=session)
    >>> try:
    ...     main("nowhere.yaml")
    ... except siloseal.ConfigError as error:
    ...     print(type(error).__name__)
    ConfigError
    """
    from siloseal.runs.averaging import deployed_session

    return deployed_session(as_path(path, "the path of a silo.yaml"))


def simulate_silos(
    script: "Callable[[AveragingSession], Result]",
    silos: Sequence[str],
    *,
    secure_sum: str = "ckks",
    options: Mapping[str, object] | None = None,
    fewest: int | None = None,
    averages: int = 1000,
    largest_silo: int = 100_000,
    largest_weight: float = 64.0,
) -> dict[str, Result]:
    """Run the script once for each silo, each in a thread, with a session; return what each run of it returned.

    All else is as in a consortium: the same messages, sums and checks. `secure_sum` and its `options` are those of
    `siloseal.secure_sum`. An average is of `fewest` silos or more, all if it is left out; a script that returns has
    left. `averages`, `largest_silo` and `largest_weight` are keys of the job of averages that a consortium agrees on.

    >>> siloseal.simulate_silos(lambda session: session.averages, ["north", "east"], secure_sum="secagg")
    {'north': 0, 'east': 0}
    """
    from siloseal.runs.averaging import simulate_scripts

    if not callable(script):
        raise ConfigError(f"found {shown(script)}, expected a function that takes a session")
    if isinstance(silos, str) or not isinstance(silos, Sequence):
        raise ConfigError(f"silos are {shown(silos)}, expected their names: ['north', 'east', 'south']")
    if options is not None and (not isinstance(options, Mapping) or "kind" in options):
        raise ConfigError(f"options are {shown(options)}, expected the sum's options by name, `kind` not among them")
    named: dict[str, object] = {"names": list(silos)} | ({} if fewest is None else {"fewest": fewest})
    job = _job(
        {
            "name": "simulation",
            "silos": named,
            "secure_sum": {**(options or {}), "kind": secure_sum},
            "averages": averages,
            "largest_silo": largest_silo,
            "largest_weight": largest_weight,
        }
    )
    with tempfile.TemporaryDirectory(prefix="siloseal-") as folder:
        return simulate_scripts(script, job, Path(folder))


def _job(values: dict[str, object]) -> "AverageJob":
    from siloseal.federation.averages.config import AverageJob

    try:
        return check_values(AverageJob, values)
    except yaml.YAMLError:
        raise ConfigError("found an argument of another type, expected numbers and words of Python") from None
