"""The data that a silo reads, as config sections.

These are descriptions only: what reads files lives with the silo, because nothing else may see data. The union is
told apart by `kind`, so that a config file names its choice and a typing error is refused with the list of choices.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from siloseal.federation.config.fields import Range
from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.columns import COLUMNS, TARGET, Columns, DeclaredColumns, Target
from siloseal.federation.job.sections.source import (
    LARGEST_SIDE,
    FewShotSource,
    HeldOut,
    ImageSource,
    Source,
    WholeSource,
)
from siloseal.federation.job.sections.tables import CsvRecords, EmbeddedTable

MOST_CLASSES = 10_000
Alphabets = tuple[str, ...] | None
Cache = Annotated[
    Path | None,
    Field(
        description="a folder for decoded and resized images, so that the next run need not decode them again; they "
        "are copies of the pictures, as private as these, readable by their owner only, and safe to delete; may hold "
        "environment variables, ${NAME}"
    ),
]


def _require_different(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if names is not None and len(set(names)) != len(names):
        raise ValueError("found a name twice, expected each once; remove the copy")
    return names


ClassNames = Annotated[tuple[str, ...] | None, AfterValidator(_require_different)]


class EmbeddedMnist(WholeSource):
    """5,000 real MNIST images that come with an installed package: nothing to download."""

    kind: Literal["embedded_mnist"] = Field(default="embedded_mnist", description="MNIST's embedded 5,000 images")


class Digits(WholeSource):
    """scikit-learn's 1,797 digits of 8x8: small enough for a test, public enough for a warm start."""

    kind: Literal["digits"] = Field(default="digits", description="scikit-learn's 8x8 digits")


class IdxFiles(ImageSource):
    """MNIST or Fashion-MNIST in their original IDX files, gzipped or not."""

    kind: Literal["idx"] = Field(default="idx", description="IDX files in a folder")
    folder: Path = Field(description="the folder of the four IDX files; may hold environment variables, ${NAME}")
    name: Literal["mnist", "fashion_mnist"] = Field(default="mnist", description="which data set to download")
    download: bool = Field(default=False, description="download the files that the folder lacks")


class _ClassFolders(WholeSource):
    path: Path = Field(description="the folder of class folders; may hold environment variables, ${NAME}")
    side: int = Field(ge=1, le=LARGEST_SIDE, description="resize every image to side x side, by bilinear interpolation")
    class_names: ClassNames = Field(
        default=None,
        min_length=1,
        description="the classes in the order of their labels, the same at every silo, so that a silo which lacks a "
        "class numbers the others as its peers do; by default the folders found, in alphabetical order",
    )


class ClassFolders(_ClassFolders):
    """A silo's own pictures: one folder a class, the folder's name being the class."""

    kind: Literal["folder"] = Field(default="folder", description="a folder of class folders")
    colour: Literal["grey", "rgb"] = Field(default="grey", description="one channel or three")


class Window(Section):
    """The part of a modality's scale that becomes black to white, declared and not taken from data."""

    centre: float = Field(description="the value in the middle, in the modality's units: 40 Hounsfield units, say")
    width: float = Field(gt=0, description="the distance from black to white, in the same units; 400, say")


class DicomFolders(_ClassFolders):
    """Radiographs and slices in DICOM files (.dcm): one folder a class. Needs the extra `dicom`.

    Stored values become the modality's units by the file's rescale slope and intercept, and then 0 to 1 by the
    declared window. Nothing but pixels and what it takes to read them is looked at.
    """

    kind: Literal["dicom"] = Field(description="a folder of class folders with DICOM files")
    window: Window = Field(description="which values become black and white, the same for every image and silo")


class NpzFile(WholeSource):
    """A silo's own arrays: images and labels, x and y of any shape, or a MedMNIST file."""

    kind: Literal["npz"] = Field(default="npz", description="a NumPy archive")
    path: Path = Field(
        description="the .npz file; may hold environment variables, ${NAME}; of a MedMNIST file, the validation split "
        "(val_images) joins the training images, and the test split is held out"
    )
    classes: int | None = Field(
        default=None,
        ge=1,
        le=MOST_CLASSES,
        description="the number of classes over all silos; by default one more than the top label",
    )
    class_names: ClassNames = Field(
        default=None,
        min_length=1,
        description="the names of the classes in the order of their numbers, for reports and predictions; they count "
        "the classes, too",
    )
    range: Range | None = Field(
        default=None,
        description="the smallest and the largest input, which become 0 and 1; what lies beyond them counts as the "
        "nearest of both; without it, x must hold floats, which are taken as they are, and images are scaled by what "
        "their type can hold",
    )
    target_range: Range | None = Field(
        default=None,
        description="the bounds of measured targets, which become 0 and 1; with it, labels or y are numbers to be "
        "predicted and not classes",
    )
    held_out: HeldOut = Field(
        default=0.2,
        description="the fraction kept for evaluation if the file has no test split: of examples, or of classes",
    )

    @model_validator(mode="after")
    def _classes_or_measured(self) -> Self:
        given = "classes" if self.classes is not None else "class_names"
        if self.known_classes is not None and self.target_range is not None:
            raise ValueError(f"target_range is for measured targets, but {given} is about classes; keep one of both")
        if self.class_names is not None and self.classes not in (None, len(self.class_names)):
            raise ValueError(
                f"class_names lists {len(self.class_names)} names, but classes is {self.classes}; name every class, or "
                "leave classes out"
            )
        return self

    @property
    def known_classes(self) -> int | None:
        """The declared number of classes; None where the labels tell."""
        return self.classes if self.class_names is None else len(self.class_names)


class MiniImagenet(FewShotSource):
    """Mini-ImageNet, in any of the three forms in which it is passed on; found by looking into the folder."""

    kind: Literal["mini_imagenet"] = Field(default="mini_imagenet", description="Mini-ImageNet in a folder")
    folder: Path = Field(
        description="the folder of images/ with train.csv and test.csv, of train/ and test/ with class folders, or of "
        "mini-imagenet-cache-*.pkl; may hold environment variables, ${NAME}"
    )
    side: int = Field(default=84, ge=1, le=LARGEST_SIDE, description="resize every image to side x side")
    held_out: Literal["test", "val"] = Field(default="test", description="the split to evaluate on")
    cache: Cache = None


class Omniglot(FewShotSource):
    """Omniglot's characters, ink 1 on paper 0 as in MNIST, from its folders or straight from its zip archives."""

    kind: Literal["omniglot"] = Field(default="omniglot", description="Omniglot in a folder")
    folder: Path = Field(
        description="the folder of images_background and images_evaluation (or images_background_small1, ...), as "
        "folders or as .zip; may hold environment variables, ${NAME}"
    )
    side: int = Field(default=28, ge=1, le=LARGEST_SIDE, description="resize every image to side x side")
    test_alphabets: Alphabets = Field(
        default=None, min_length=1, description="the alphabets to evaluate on; by default those of images_evaluation"
    )
    train_alphabets: Alphabets = Field(
        default=None, min_length=1, description="the alphabets to train on; by default all that are not held out"
    )
    rotations: bool = Field(
        default=False,
        description="turn every training character by 90, 180 and 270 degrees, which makes three more classes of each",
    )
    cache: Cache = None

    @model_validator(mode="after")
    def _alphabets_are_apart(self) -> Self:
        train, test = self.train_alphabets or (), self.test_alphabets or ()
        if both := sorted(set(train) & set(test)):
            raise ValueError(f"{', '.join(both)} is to be trained on and held out; name each alphabet once")
        if len(set(train + test)) != len(train + test):
            raise ValueError("an alphabet is listed twice, expected each once; remove the copy")
        return self


class Strokes(FewShotSource):
    """Invented characters, drawn when asked for: a few-shot data set without a download. Synthetic, nobody's data."""

    kind: Literal["strokes"] = Field(default="strokes", description="invented characters, drawn by program")
    side: int = Field(default=28, ge=4, le=512, description="draw every character as side x side")
    characters: int = Field(default=60, ge=1, le=MOST_CLASSES, description="how many characters to train on")
    held_out_characters: int = Field(
        default=20, ge=1, le=MOST_CLASSES, description="how many other characters to evaluate on"
    )
    drawings: int = Field(default=20, ge=1, le=10_000, description="how many drawings of each character")


class AtSilos(Source):
    """A deployment's data: each silo reads its own, as its silo.yaml says, and nobody else knows where it lies."""

    kind: Literal["at_silos"] = Field(default="at_silos", description="each silo's own data, for deployments")
    columns: DeclaredColumns | None = Field(
        default=None, description=f"where silos hold tables: {COLUMNS}; not given, silos hold images or arrays"
    )
    target: Target | None = Field(default=None, description=f"where silos hold tables: {TARGET}")

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.columns is None) != (self.target is None):
            given, lacking = ("target", "columns") if self.columns is None else ("columns", "target")
            raise ValueError(f"{given} is given, but {lacking} is not; a table needs both, and images neither")
        _ = self.declared  # its own checks
        return self

    @property
    def holds_out_classes(self) -> bool:
        """Each silo's own file says; a job that needs it must not be refused before a silo was asked."""
        return True

    @property
    def declared(self) -> Columns | None:
        if self.columns is None or self.target is None:
            return None
        return Columns(columns=self.columns, target=self.target)


ArraySource = (
    EmbeddedMnist
    | Digits
    | IdxFiles
    | ClassFolders
    | DicomFolders
    | NpzFile
    | MiniImagenet
    | Omniglot
    | Strokes
    | AtSilos
)
"""Sources of images and arrays, which a silo's own file may name too."""

DataSource = Annotated[ArraySource | CsvRecords | EmbeddedTable, Field(discriminator="kind")]
