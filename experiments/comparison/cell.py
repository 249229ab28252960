"""One cell in a process of its own: its memory is measured by the process, and a crash takes no other cell with it.

    python -m siloseal.experiments.comparison.cell FOLDER

FOLDER/cell.json says what to measure, program.txt by which state of the program. FOLDER/rows.jsonl is written last, in
one step, and marks the cell as finished.
"""

import sys
import time
from pathlib import Path

from pydantic import TypeAdapter

from siloseal.experiments.comparison.measurements import Measurement
from siloseal.experiments.comparison.memory import peak_bytes
from siloseal.experiments.comparison.rows import Row
from siloseal.federation.errors import SiloSealError
from siloseal.federation.records.storage import write_atomically

SETTINGS, PROGRAM, ROWS = "cell.json", "program.txt", "rows.jsonl"
LAST = "process_bytes"
"""Name of the last row's measure: a file that does not end with it is damaged."""
_MEASUREMENT: TypeAdapter[Measurement] = TypeAdapter(Measurement)


def main(folder: Path) -> None:
    """Measure, and write the rows with what the process itself took."""
    began = time.monotonic()
    measurement = _MEASUREMENT.validate_json((folder / SETTINGS).read_bytes())
    rows = measurement.run(folder)
    rows.append(Row(measure="cell_seconds", value=time.monotonic() - began, unit="s"))
    rows.append(Row(measure=LAST, value=peak_bytes(), unit="B"))
    write_atomically(folder / ROWS, "".join(row.model_dump_json() + "\n" for row in rows).encode())


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except SiloSealError as error:
        sys.exit(str(error))
