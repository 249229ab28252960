"""What `siloseal demo` shows, for the README: the digits of each silo alone and of the federation, and the accuracies.

python -m experiments.report.demo RUN OUT     writes OUT/report.md and OUT/figures/demo-digits.png
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from experiments import figures
from experiments.report.chapter import Chapter, Figure, Table
from experiments.report.chapters.draft import Album
from experiments.report.markdown import write_markdown
from federation.errors import RunError, SiloSealError
from siloseal import wording
from siloseal.images import Images, Labels, paste, read_npz
from siloseal.metrics import stage_title
from siloseal.summary import Run, read_run

OWN = "silo_alone"
COLUMNS = 4  # images of a class


def chapter(run: Run, folder: Path, *, dpi: int = figures.DPI) -> Chapter:
    """The run as one chapter, its picture in `folder`."""
    with figures.style():
        picture = _digits(run, Album(folder, "demo", dpi))
    return Chapter(
        name="demo",
        title="Four hospitals, each with five of ten digits",
        lead=f"Accuracy is that of a small classifier ({run.summary.classifier}) which saw generated images only, on "
        f"real held-out ones. Each silo spends epsilon {wording.epsilon(run.summary.epsilon)} at most, at delta "
        f"{wording.delta(run.summary.delta)}.",
        figures=(picture,),
        tables=(_accuracies(run),),
        notes=(f"One run, of {wording.duration(run.summary.seconds)}; the noise differs from run to run.",),
        command="siloseal demo",
    )


def _digits(run: Run, album: Album) -> Figure:
    owners: list[str | None] = [silo.name for silo in run.summary.silos]
    wanted = [*((OWN, name) for name in owners), ("final", None)]
    if missing := [stage for stage, silo in wanted if (stage, silo) not in run.samples]:
        raise RunError(f"{run.directory} has no samples of {missing[0]}; run the demo again, and let it finish")
    drawn = [read_npz(run.samples[key]) for key in wanted]
    classes = np.unique(drawn[-1][1])
    picture, panels = figures.panels(len(drawn), columns=len(drawn), height=3.0)
    for axes, (images, labels), (_, silo) in zip(panels, drawn, wanted, strict=True):
        axes.imshow(class_rows_of(images, labels, classes)[0], cmap="gray_r", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title("federation" if silo is None else f"{silo} alone")
        axes.set_axis_off()
    most = max(len(np.unique(labels)) for _, labels in drawn[:-1])
    reached, alone = (wording.share(value) for value in (run.summary.final_accuracy, run.summary.best_silo_accuracy))
    message = (
        f"Alone, no silo draws more than {most} of the {len(classes)} digits; together they draw all "
        f"(accuracy {reached}, best silo alone {alone})"
    )
    caption = "Generated digits, one row a class, at the same epsilon; a row is empty where a silo has no such images."
    return album.keep(picture, "digits", message=message, caption=caption)


def class_rows_of(images: Images, labels: Labels, classes: Labels) -> Images:
    """One row a class; those that a silo does not have stay empty."""
    return paste([images[labels == label][:COLUMNS] for label in classes], COLUMNS)


def _accuracies(run: Run) -> Table:
    models: dict[str, float | None] = {stage_title(stage): value for stage, value in run.summary.accuracy.items()}
    models["Best silo alone, at the same epsilon"] = run.summary.best_silo_accuracy
    models["Real data instead of generated"] = run.summary.real_data_accuracy
    rows = tuple((name, wording.share(value)) for name, value in models.items())
    return Table("Accuracy by stage", ("stage", "accuracy"), rows, numbers=(1,))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished demo")
    parser.add_argument("out", type=Path, help="where the picture and its text go")
    arguments = parser.parse_args()
    drawn = chapter(read_run(arguments.run), arguments.out / "figures")
    write_markdown(arguments.out, [drawn], title="The demo")


if __name__ == "__main__":
    try:
        main()
    except SiloSealError as error:
        sys.exit(f"error: {error}")
