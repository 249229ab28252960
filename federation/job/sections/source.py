"""What all sources of data have in common, as config sections."""

from typing import Annotated, Literal

from pydantic import Field

from siloseal.federation.config.section import Section
from siloseal.federation.job.sections.columns import Columns

LARGEST_SIDE = 4096
HeldOut = Annotated[float, Field(gt=0, lt=1)]


class Source(Section):
    """A place where examples come from."""

    @property
    def origin(self) -> tuple[str, ...]:
        """The origin of the examples, as far as the text of a config tells, however many are kept."""
        places = (getattr(self, field, None) for field in ("folder", "path", "file"))
        return getattr(self, "kind", ""), *(str(place) for place in places if place is not None)

    @property
    def holds_out_classes(self) -> bool:
        """Whether evaluation is on classes that training never sees, which is what few-shot learning needs."""
        return False

    @property
    def declared(self) -> Columns | None:
        """The columns that the job declares, where the examples are records of a table."""
        return None


class ReadSource(Source):
    """A source that is read where its section stands."""

    limit: int | None = Field(
        default=None,
        ge=1,
        le=10**12,
        description="keep at most this many training and this many held-out examples, stratified by class",
    )


class ImageSource(ReadSource):
    """A source of images."""

    side: int | None = Field(
        default=None, ge=1, le=LARGEST_SIDE, description="resize every image to side x side, by bilinear interpolation"
    )
    margin: int = Field(
        default=0,
        ge=0,
        le=2048,
        description="black pixels on each edge of a resized image, which are part of its side; MNIST has 4",
    )


class WholeSource(ImageSource):
    """A source that does not come in two parts, and is split here."""

    held_out: HeldOut = Field(default=0.2, description="the fraction kept for evaluation: of examples, or of classes")
    hold_out: Literal["examples", "classes"] = Field(
        default="examples",
        description="what is kept for evaluation: examples, stratified by class; or whole classes, for few-shot "
        "learning",
    )

    @property
    def holds_out_classes(self) -> bool:
        return self.hold_out == "classes"


class FewShotSource(ImageSource):
    """A source whose training classes and held-out classes are disjoint by design."""

    @property
    def holds_out_classes(self) -> bool:
        return True
