"""Noise comes from the randomness that is handed in, and from nowhere else."""

from pathlib import Path

from siloseal.federation import exact_noise
from siloseal.federation.privacy import mechanisms


def test_nothing_of_the_mechanisms_reaches_a_seed() -> None:
    """The frame and the rotation have seeds, but these are public: they hide nothing."""
    for path in (Path(exact_noise.__file__), *Path(mechanisms.__path__[0]).glob("*.py")):
        text = path.read_text()
        for word in ("SeededRandomness", "environ", "getenv", "import random", "RandomState", "secrets", "Generator"):
            assert word not in text, (path.name, word)
        assert "np.random" not in text, path.name
        assert "numpy.random" not in text, path.name
        if path.name not in ("kashin.py", "rotation.py", "lattice.py", "pbm.py", "pbm_kashin.py"):
            assert "seed" not in text, path.name
