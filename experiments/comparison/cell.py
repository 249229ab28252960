"""One cell in a process of its own: its memory is measured by the process, and a crash takes no other cell with it.

    python -m experiments.comparison.cell FOLDER

FOLDER/cell.json says what to measure; FOLDER/rows.jsonl is written last, in one step, and marks the cell as finished.
"""

import resource
import sys
import time
from pathlib import Path

from pydantic import TypeAdapter

from experiments.comparison.measurements import Measurement
from experiments.comparison.rows import Row
from federation.errors import SiloSealError
from federation.storage import write_atomically

SETTINGS, ROWS = "cell.json", "rows.jsonl"
_MEASUREMENT: TypeAdapter[Measurement] = TypeAdapter(Measurement)


def main(folder: Path) -> None:
    """Measure, and write the rows with what the process itself took."""
    began = time.monotonic()
    measurement = _MEASUREMENT.validate_json((folder / SETTINGS).read_bytes())
    rows = measurement.run(folder)
    rows.append(Row(measure="cell_seconds", value=time.monotonic() - began, unit="s"))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows.append(Row(measure="process_bytes", value=peak, unit="B"))
    write_atomically(folder / ROWS, "".join(row.model_dump_json() + "\n" for row in rows).encode())


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except SiloSealError as error:
        sys.exit(str(error))
