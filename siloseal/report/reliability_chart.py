"""How far a classifier's confidence can be taken at its word."""

from siloseal.report import charts
from siloseal.report.document import Figure
from siloseal.report.intervals import Mean
from siloseal.run_folder.classification import ClassificationMetric, ReliabilityBin

CALIBRATED = 0.05
"""Expected calibration error up to which confidence counts as right."""


def reliability_chart(details: ClassificationMetric) -> Figure:
    """Accuracy against confidence: on the diagonal, confidence means what it says."""
    picture, (axes,) = charts.panels(1, height=3.1, width=charts.NARROW)
    axes.plot([0, 1], [0, 1], color=charts.GREY, linestyle=(0, (3, 3)), linewidth=1.2)
    points = [(one.confidence, Mean(one.accuracy, None, 1)) for one in details.reliability]
    charts.curve(axes, points, charts.look(0), "")
    largest = max((one.records for one in details.reliability), default=1)
    for one in details.reliability:
        width = one.high - one.low
        axes.bar(one.low + width / 2, 0.2 * one.records / largest, 0.9 * width, color=charts.GREY, alpha=0.25)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("confidence: the probability of the class that is named")
    charts.measured_in(axes, "share that is named rightly")
    caption = (
        "Line with dots: held-out records in bins of confidence. Dashed: where confidence means what it says; above it "
        "the model is too modest, below it too sure. Grey: how many records a bin holds, of which the largest has "
        f"{largest:,}."
    )
    return charts.figure(picture, "reliability", message=calibration_message(details), caption=caption)


def calibration_message(details: ClassificationMetric) -> str:
    """What to make of the model's confidence, without a full stop."""
    error, gap = details.calibration_error, overconfidence(details.reliability)
    if error <= CALIBRATED:
        return f"Confidence means what it says: it is {error:.3f} away from accuracy on average"
    if abs(gap) < error / 2:  # bins on both sides
        return f"Confidence is {error:.3f} away from accuracy on average, above it and below"
    word, side = ("too sure of itself", "above") if gap > 0 else ("too modest", "below")
    return f"The model is {word}: its confidence lies {abs(gap):.3f} {side} its accuracy on average"


def overconfidence(bins: list[ReliabilityBin]) -> float:
    """Mean confidence minus accuracy, over the records of the bins."""
    records = sum(one.records for one in bins)
    return sum(one.records * (one.confidence - one.accuracy) for one in bins) / max(1, records)
