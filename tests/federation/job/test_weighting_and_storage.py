"""Weighted means as sums, and files that a crash cannot tear."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.job.weighting import mean_of, weigh, weighted_domain
from siloseal.federation.records.storage import write_atomically


def test_the_sum_of_weighted_contributions_stands_for_the_weighted_mean() -> None:
    vectors, weights = np.random.default_rng(1).normal(size=(3, 50)), [36_000, 12_000, 4000]
    total = sum(weigh(vector, weight=weight, largest=100_000) for vector, weight in zip(vectors, weights, strict=True))
    np.testing.assert_allclose(mean_of(total), np.average(vectors, axis=0, weights=weights), rtol=1e-12)


def test_weighted_contributions_stay_in_the_domain() -> None:
    domain = weighted_domain(50, bound=4.0)
    domain.check(weigh(np.full(50, -4.0), weight=100, largest=100))
    assert domain.length == 51


def test_weights_that_add_up_to_nothing_are_no_mean() -> None:
    with pytest.raises(DomainError, match="precision_bits"):
        mean_of(np.zeros(4))


@pytest.mark.parametrize("weight", [0, -1, 101])
def test_a_weight_outside_the_agreed_range_is_refused(weight: int) -> None:
    with pytest.raises(DomainError, match="largest_silo"):
        weigh(np.zeros(3), weight=weight, largest=100)


def test_what_a_kill_left_beside_a_file_is_gone_after_the_next_write(tmp_path: Path) -> None:
    """It may be a key. A process is killed between the writing and the renaming."""
    code = (
        "import os, pathlib, signal, sys; from siloseal.federation.records.storage import write_atomically; "
        "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        "write_atomically(pathlib.Path(sys.argv[1]), b'secret', mode=0o600)"
    )
    file = tmp_path / "reply.bin"
    killed = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert (left.read_bytes(), left.stat().st_mode & 0o777) == (b"secret", 0o600)
    write_atomically(file, b"harmless", mode=0o600)
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == b"harmless"


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "state"
    write_atomically(file, b"old", mode=0o600)
    write_atomically(file, b"new", mode=0o600)
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_content_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own /dev/full would do, but a rename needs a real file: so the failing call is the flush."""
    file = tmp_path / "state"
    write_atomically(file, b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, b"new" * 1000)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
