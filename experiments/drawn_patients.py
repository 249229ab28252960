"""Patients drawn by a public law: a table with numbers and categories, as large as one likes, that is nobody's.

The embedded table has measured numbers only. Whether generated records keep what hangs together must also be seen on
categories, and with more records than noise.
"""

import numpy as np

from siloseal.federation.job.sections.columns import CategoryColumn, CategoryTarget, Columns, NumberColumn
from siloseal.silo.data.tables import Numbers, Table, Texts, texts_of

WARDS = ("icu", "er", "surgery")

DECLARED = Columns(
    columns=(
        NumberColumn(kind="number", name="age", range=(0, 100)),
        NumberColumn(kind="number", name="creatinine", range=(0.2, 12), scale="log"),
        NumberColumn(kind="number", name="pressure", range=(60, 220)),
        NumberColumn(kind="number", name="days", range=(0, 60)),
        CategoryColumn(kind="category", name="sex", values=("f", "m")),
        CategoryColumn(kind="category", name="smoker", values=("no", "yes")),
        CategoryColumn(kind="category", name="ward", values=WARDS),
    ),
    target=CategoryTarget(kind="category", name="readmitted", values=("no", "yes")),
)


def draw_patients(count: int, *, seed: int) -> Table:
    """Draw a table with the columns of `DECLARED`. Every column depends on some others, and the target on most."""
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(9, 6.5, count), 0, 100)
    man = random.random(count) < 0.5
    smoker = random.random(count) < np.where(man, 0.35, 0.2)
    # The old lie in surgery or intensive care, the young come through the emergency room.
    shares = np.where(age[:, np.newaxis] > 60, [0.3, 0.2, 0.5], [0.1, 0.6, 0.3])
    ward = (random.random((count, 1)) > shares.cumsum(1)[:, :2]).sum(1)
    creatinine = np.exp(-0.5 + 0.012 * age + 0.2 * man + 0.5 * (ward == 0) + 0.3 * random.standard_normal(count))
    pressure = 100 + 0.6 * age + 12 * smoker + 14 * random.standard_normal(count)
    days = random.exponential(np.where(ward == 0, 14, 5))
    odds = -4 + 1.5 * np.log(creatinine) + 0.05 * (age - 50) + 1.5 * smoker + 0.1 * days + 2.5 * (man & (age > 60))
    readmitted = random.random(count) < 1 / (1 + np.exp(-1.5 * (odds + 2)))
    columns = {
        "age": _written(age),
        "creatinine": _written(creatinine),
        "pressure": _written(pressure),
        "days": _written(days),
        "sex": texts_of(["m" if yes else "f" for yes in man]),
        "smoker": texts_of(["yes" if yes else "no" for yes in smoker]),
        "ward": texts_of([WARDS[place] for place in ward]),
        "readmitted": texts_of(["yes" if yes else "no" for yes in readmitted]),
    }
    return Table("drawn patients", columns, np.arange(2, count + 2))


def _written(values: Numbers) -> Texts:
    return texts_of([f"{value:.3f}" for value in values])
