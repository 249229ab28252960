"""What `siloseal demo` shows, for the README: what it prints, the digits of each silo alone and of the federation.

python -m siloseal.experiments.report.demo RUN OUT     writes printed.txt, report.md and figures/demo-digits.png in OUT
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from siloseal.experiments.report.chapter import LIMITS, comparison_report
from siloseal.experiments.report.chapters.draft import Album
from siloseal.federation.errors import RunError, SiloSealError
from siloseal.federation.records.storage import write_atomically
from siloseal.report import charts, wording
from siloseal.report.document import Chapter, Command, Figure, Notes, Table
from siloseal.report.markdown import write_markdown
from siloseal.report.sentences import spent_on_silos_alone
from siloseal.run_folder.images import Images, Labels, gap_of, paste, read_npz
from siloseal.run_folder.metrics import stage_title
from siloseal.run_folder.run import Run, read_run
from siloseal.runs.printable_run import printable_run

OWN = "silo_alone"
COLUMNS = 4  # images of a class
WHITE = 255
COMMAND = "siloseal demo --out RUN && python -m siloseal.experiments.report.demo RUN OUT"


def chapter(run: Run, folder: Path, *, dpi: int = charts.DPI) -> Chapter:
    """The run as one chapter, its picture in `folder`."""
    with charts.style():
        picture = _digits(run, Album(folder, "demo", dpi))
    return Chapter(
        name="demo",
        title="What the demo draws",
        lead=f"Accuracy is that of a small classifier ({run.summary.classifier}) which saw generated images only, on "
        f"real held-out ones. Each silo spends {wording.guarantee(run.summary.epsilon, run.summary.delta)} at most. "
        f"{spent_on_silos_alone(run.summary) or ''}".rstrip(),
        blocks=(Command(COMMAND), picture, _accuracies(run), Notes(_notes(run), LIMITS)),
    )


def _notes(run: Run) -> tuple[str, ...]:
    return (
        f"One run, of {wording.duration(run.summary.seconds)}; the noise differs from run to run.",
        "The test images are of all digits: a silo that has half of them cannot name more than half of the images.",
    )


def _digits(run: Run, album: Album) -> Figure:
    samples = samples_of(run)
    *own, (_, together) = samples.values()
    classes = np.unique(together)
    picture, panels = charts.panels(len(samples), columns=len(samples), height=3.0)
    for axes, (title, (images, labels)) in zip(panels, samples.items(), strict=True):
        axes.imshow(class_rows_of(images, labels, classes)[0], cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title(title)
        axes.set_xticks([])
        axes.set_yticks([row_middle(images.shape[2], row) for row in range(len(classes))], classes)
        axes.tick_params(length=0, labelleft=axes is panels[0])
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    panels[0].set_ylabel("digit asked for")
    most = max(len(np.unique(labels)) for _, labels in own)
    reached, alone = (wording.share(value) for value in (run.summary.final_accuracy, run.summary.best_silo_accuracy))
    message = (
        f"A silo alone can draw {most} of the {len(classes)} digits at most, the federation all of them "
        f"(accuracy {reached}, best silo alone {alone})"
    )
    caption = "Generated digits, one row a class, at the same epsilon; a row is empty where a silo has no such images."
    return album.keep(picture, "digits", message=message, caption=caption)


def samples_of(run: Run) -> dict[str, tuple[Images, Labels]]:
    """Return the samples of each silo's own model, and last of the federation's, by the title of its panel."""
    found = {f"{silo.name} alone": (OWN, silo.name) for silo in run.summary.silos} | {"federation": ("final", None)}
    if missing := [title for title, key in found.items() if key not in run.samples]:
        raise RunError(f"{run.directory} has no samples of {missing[0]}; run the demo again, and let it finish")
    return {title: read_npz(run.samples[key]) for title, key in found.items()}


def class_rows_of(images: Images, labels: Labels, classes: Labels) -> Images:
    """Return one row a class; those that a silo does not have stay empty."""
    return paste([images[labels == label][:COLUMNS] for label in classes], COLUMNS, paper=WHITE)


def row_middle(height: int, row: int) -> float:
    """Return the middle of a row of images, in pixels from the top."""
    return (height + gap_of(height)) * row + (height - 1) / 2


def _accuracies(run: Run) -> Table:
    models: dict[str, float | None] = {stage_title(stage): value for stage, value in run.summary.accuracy.items()}
    models["Best silo alone, at the same epsilon once more"] = run.summary.best_silo_accuracy
    models["Real data instead of generated"] = run.summary.real_data_accuracy
    rows = tuple((name, wording.share(value)) for name, value in models.items())
    return Table("Accuracy by stage", ("stage", "accuracy"), rows, numbers=(1,))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished demo")
    parser.add_argument("out", type=Path, help="where the picture and the texts go")
    arguments = parser.parse_args()
    run = read_run(arguments.run)
    drawn = chapter(run, arguments.out / "figures")
    write_atomically(arguments.out / "printed.txt", f"{printable_run(run)}\n".encode())
    write_markdown(arguments.out / "report.md", comparison_report([drawn], title="The demo"))


if __name__ == "__main__":
    try:
        main()
    except SiloSealError as error:
        sys.exit(f"error: {error}")
