"""Which data a silo reads, and how a simulation deals one data set to several silos, as config sections.

These are descriptions only: what reads files lives with the silo, because nothing else may see data. Both unions are
told apart by `kind`, so that a config file names its choice and a typing error is refused with the list of choices.
"""

from math import isclose
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from federation.config.section import Section

MOST_CLASSES = 10_000
LARGEST_SIDE = 4096
HeldOut = Annotated[float, Field(gt=0, lt=1)]


class _Source(Section):
    side: int | None = Field(
        default=None, ge=1, le=LARGEST_SIDE, description="resize every image to side x side, by bilinear interpolation"
    )
    margin: int = Field(
        default=0,
        ge=0,
        le=2048,
        description="of the side, so many black pixels around each resized image, as MNIST has 4",
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        le=10**12,
        description="keep at most this many training and this many held-out images, stratified",
    )

    @property
    def origin(self) -> tuple[str, ...]:
        """Where the images come from, as far as the text of a config tells, however many are kept."""
        places = (getattr(self, field, "") for field in ("kind", "folder", "path"))
        return tuple(str(place) for place in places)


class EmbeddedMnist(_Source):
    """5,000 real MNIST images that come with an installed package: nothing to download."""

    kind: Literal["embedded_mnist"] = Field(default="embedded_mnist", description="MNIST's embedded 5,000 images")
    held_out: HeldOut = Field(default=0.2, description="the fraction kept for evaluation, stratified by class")


class Digits(_Source):
    """scikit-learn's 1,797 digits of 8x8: small enough for a test, public enough for a warm start."""

    kind: Literal["digits"] = Field(default="digits", description="scikit-learn's 8x8 digits")
    held_out: HeldOut = Field(default=0.2, description="the fraction kept for evaluation, stratified by class")


class IdxFiles(_Source):
    """MNIST or Fashion-MNIST in their original IDX files, gzipped or not."""

    kind: Literal["idx"] = Field(default="idx", description="IDX files in a folder")
    folder: Path = Field(description="the folder of the four IDX files; may hold environment variables, ${NAME}")
    name: Literal["mnist", "fashion_mnist"] = Field(default="mnist", description="which data set to download")
    download: bool = Field(default=False, description="download the files that the folder lacks")


class ClassFolders(_Source):
    """A silo's own pictures: one folder a class, the folder's name being the class."""

    kind: Literal["folder"] = Field(default="folder", description="a folder of class folders")
    path: Path = Field(description="the folder of class folders; may hold environment variables, ${NAME}")
    side: int = Field(ge=1, le=LARGEST_SIDE, description="resize every image to side x side, by bilinear interpolation")
    colour: Literal["grey", "rgb"] = Field(default="grey", description="one channel or three")
    class_names: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="the classes in the order of their labels, the same at every silo, so that a silo which lacks a "
        "class numbers the others as its peers do; by default the folders found, in alphabetical order",
    )
    held_out: HeldOut = Field(default=0.2, description="the fraction kept for evaluation, stratified by class")

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = self.class_names or ()
        if len(set(names)) != len(names):
            raise ValueError("class_names lists a name twice, expected each once; remove the copy")
        return self


class NpzFile(_Source):
    """A silo's own arrays, or a MedMNIST file."""

    kind: Literal["npz"] = Field(default="npz", description="a NumPy archive")
    path: Path = Field(description="the .npz file; may hold environment variables, ${NAME}")
    classes: int | None = Field(
        default=None,
        ge=1,
        le=MOST_CLASSES,
        description="the number of classes over all silos; by default one more than the top label",
    )
    held_out: HeldOut = Field(default=0.2, description="the fraction kept for evaluation if the file has no test split")


class AtSilos(_Source):
    """A deployment's data: each silo reads its own, as its silo.yaml says, and nobody else knows where it lies."""

    kind: Literal["at_silos"] = Field(default="at_silos", description="each silo's own; for deployments")


DataSource = Annotated[
    EmbeddedMnist | Digits | IdxFiles | ClassFolders | NpzFile | AtSilos, Field(discriminator="kind")
]


class Iid(Section):
    """Every silo gets an equal, uniformly drawn part."""

    kind: Literal["iid"] = Field(default="iid", description="equal parts, drawn uniformly")


class Dirichlet(Section):
    """Label skew: each class is dealt in proportions drawn from a symmetric Dirichlet distribution."""

    kind: Literal["dirichlet"] = Field(default="dirichlet", description="label skew")
    alpha: float = Field(gt=0, allow_inf_nan=False, description="small is skewed (0.1), large is even (100)")
    smallest: int = Field(default=10, ge=1, description="the fewest examples that a silo may end up with")


class ByClass(Section):
    """Every silo holds only some of the classes."""

    kind: Literal["by_class"] = Field(default="by_class", description="a few classes a silo")
    classes_per_silo: int = Field(ge=1, description="how many classes each silo holds")


class Sizes(Section):
    """Unequal silos with the same distribution."""

    kind: Literal["sizes"] = Field(default="sizes", description="unequal parts, drawn uniformly")
    fractions: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        min_length=1, description="each silo's part of the whole; they add up to 1"
    )

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        total = sum(self.fractions)
        if not isclose(total, 1.0, abs_tol=1e-6):
            raise ValueError(f"fractions add up to {total:g}, expected 1; scale them")
        return self


PartitionSpec = Annotated[Iid | Dirichlet | ByClass | Sizes, Field(discriminator="kind")]
