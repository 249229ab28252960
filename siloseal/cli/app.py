"""The command line. Each command is a few lines: it reads a config, calls what does the work, and shows the result."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.core import TyperGroup

import siloseal
from siloseal.cli import adapt as adapt_cli
from siloseal.cli import analytics as analytics_cli
from siloseal.cli import compare as compare_cli
from siloseal.cli import deploy as deploy_cli
from siloseal.cli import export as export_cli
from siloseal.cli import own_code as own_code_cli
from siloseal.cli import predict as predict_cli
from siloseal.cli.audit import audit
from siloseal.cli.options import Device, Json, Model, Quiet, RunFolder
from siloseal.cli.provision import provision_app
from siloseal.federation.errors import ConfigError, SiloSealError
from siloseal.federation.printable import printable
from siloseal.models.user_code.places import look_in

if TYPE_CHECKING:
    from siloseal.federation.job.job import Job
    from siloseal.silo.device_name import DeviceName

ORDER = (
    *("demo", "run", "plan", "report", "sample", "adapt", "predict", "export", "analytics", "compare"),
    *("digest", "check-learner"),
    *("provision", "aggregator", "silo", "status", "audit"),
)
"""Commands as a newcomer needs them: on one machine first, then between institutions."""


class InOrder(TyperGroup):
    """Commands that the help lists by `ORDER`."""

    def list_commands(self, ctx: object) -> list[str]:
        """The names of all commands."""
        return sorted(self.commands, key=ORDER.index)


app = typer.Typer(
    cls=InOrder,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Institutions learn one model, a classifier, a generator or one that learns new tasks, from data that never
leaves any of them.

**Start here:** `siloseal demo` runs four hospitals on real digits in one to three minutes and ends with a report.

**Then:** write a job of your own, beginning with `siloseal demo --print-config > job.yaml`, or with a file of the
repository's `configs/`. See what it would cost with `siloseal plan job.yaml`, and run it with `siloseal run job.yaml`.
The same command again continues a run that was interrupted.""",
)
app.command()(deploy_cli.aggregator)
app.command()(deploy_cli.silo)
app.command()(deploy_cli.status)
app.command()(analytics_cli.analytics)
app.command()(adapt_cli.adapt)
app.command()(predict_cli.predict)
app.command()(export_cli.export)
app.command()(compare_cli.compare)
app.command()(own_code_cli.digest)
app.command()(own_code_cli.check_learner)
app.add_typer(audit, name="audit")
app.add_typer(provision_app, name="provision")

Config = Annotated[
    Path, typer.Argument(help="A job's YAML file; `siloseal demo --print-config` prints one.", metavar="CONFIG")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"siloseal {siloseal.__version__}")
        raise typer.Exit


@app.callback()
def common(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""


@app.command()
def demo(
    out: RunFolder = None,
    as_json: Json = False,
    quiet: Quiet = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the demo's job, and run nothing.")
    ] = False,
) -> None:
    """Four silos, each with five of ten digits, learn to draw all ten: real data, real privacy, real processes.

    An aggregator and four silos run as processes of their own and talk over mutual TLS. One to three minutes.
    """
    from importlib import resources

    from siloseal.federation.config.loading import parse_config
    from siloseal.federation.job.job import Job

    text = resources.files("siloseal.runs").joinpath("demo.yaml").read_text(encoding="utf-8")
    if print_config:
        print(text, end="")
        return
    _run(parse_config(Job, text, name="demo.yaml"), out, as_json, quiet, as_processes=True)


@app.command()
def run(
    config: Config, out: RunFolder = None, device: Device = "cpu", as_json: Json = False, quiet: Quiet = False
) -> None:
    """Run a job, or continue it where it was interrupted, and write its folder with the report."""
    from siloseal._api import load_job

    job = load_job(config)
    look_in(config.parent)
    _run(job, out, as_json, quiet, device=device)


@app.command()
def plan(
    config: Config,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show the plan and errors only.")] = False,
) -> None:
    """Show, before anything runs, what a job would do and cost, and what the aggregator would learn in each phase."""
    if not quiet:  # what follows imports torch and takes a few steps, in silence
        print(f"reading {printable(str(config))} and measuring a few steps ...", file=sys.stderr, flush=True)

    from siloseal import _api

    job = _api.load_job(config)  # before torch is imported: a mistake in the file is said at once
    look_in(config.parent)

    from rich.console import Console as Terminal

    from siloseal.runs.plan_table import as_document, print_plan

    found = _api.plan(job)
    if as_json:
        print(json.dumps(as_document(found), indent=2))
    else:
        print_plan(Terminal(highlight=False), found)


@app.command()
def sample(
    model: Model,
    out: Annotated[Path, typer.Option(help="A .png for a grid, or a .npz for arrays.")],
    label: Annotated[int | None, typer.Option("--class", help="Only this class. By default all, in turn.")] = None,
    count: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of images.")] = 64,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Equal seeds give equal images.")] = 0,
) -> None:
    """Draw images from a generative model. That costs no privacy: the model is already released."""
    from siloseal import _models
    from siloseal.runs.drawing import require_picture, write_samples

    require_picture(out, count)
    write_samples(out, _models.sample(model, label=label, count=count, seed=seed), one_class=label is not None)
    print(out)


@app.command()
def report(run_dir: Annotated[Path, typer.Argument(help="A run's folder.", metavar="RUN")]) -> None:
    """Write a finished run's report.html again, and print its path."""
    from siloseal.report.run_report import write_report
    from siloseal.runs.closing import check_ledgers

    check_ledgers(run_dir)
    print(write_report(run_dir))


def _run(
    job: "Job",
    out: Path | None,
    as_json: bool,
    quiet: bool,
    *,
    as_processes: bool = False,
    device: "DeviceName" = "cpu",
) -> None:
    from siloseal._api import read_run, simulate_watched
    from siloseal.cli.console import Console
    from siloseal.runs.demo import run_demo

    simulation = run_demo if as_processes else partial(simulate_watched, device=device)
    try:
        with Console(quiet=quiet, json=as_json) as console:
            summary = simulation(job, out, console.show)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command continues where it stopped", file=sys.stderr, flush=True)
        os._exit(130)  # at once: silos still at work in threads lose what their next checkpoint would have kept
    console.final(read_run(summary.run_dir))


def main() -> NoReturn:
    """Run the command line. Errors that a person can act on are one or two lines; a traceback is for bugs only."""
    try:
        app()
    except SiloSealError as error:
        from siloseal.cli.console import Console

        Console(quiet=True, json=False).error(error)
        _tell_programs(str(error))
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except OSError as error:
        words = f"{error}; nothing is lost: mend it, and the same command continues"
        print(f"error: {words}", file=sys.stderr)
        _tell_programs(words)
        sys.exit(1)
    sys.exit(0)


def _tell_programs(words: str) -> None:
    """Give whoever reads the output with `--json` one document, whatever happens."""
    if "--json" in sys.argv:
        print(json.dumps({"error": words}))
