"""What a hostile pickle can try. Each attack that would run something leaves a marker file when it is run."""

import builtins
import os
import pickle
import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siloseal.federation.errors import DataError
from siloseal.silo.data import safe_pickle
from siloseal.silo.data.safe_pickle import read_pickle

from .few_shot_files import content_of, python_2_pickle


class Calls:
    """An object whose pickle calls a function when it is read."""

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self.function, self.arguments


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "data.pkl"
    path.write_bytes(content)
    return path


def attacks(marker: Path) -> dict[str, Any]:
    system, evaluate = Calls(os.system, f"touch {marker}"), Calls(builtins.eval, f"open({str(marker)!r}, 'w')")
    return {
        "system": system,
        "eval": evaluate,
        "nested": {"image_data": content_of("val")["image_data"], "class_dict": {"n04": [0, system]}},
        "as a key": {"class_dict": {evaluate: [0]}},
        "object array": np.array([evaluate, system], dtype=object),
        "array in a record": np.array([(1, evaluate)], dtype=[("a", "i4"), ("b", "O")]),
    }


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("attack", attacks(Path("x")))
def test_nothing_in_a_pickle_is_run(tmp_path: Path, attack: str, protocol: int) -> None:
    marker = tmp_path / "marker"
    content = pickle.dumps(attacks(marker)[attack], protocol=protocol)
    with pytest.raises(DataError, match=r"data.pkl"):
        read_pickle(written(tmp_path, content))
    assert not marker.exists()


def test_the_attack_works_on_the_usual_reader(tmp_path: Path) -> None:
    """Or the test above would show nothing."""
    marker = tmp_path / "marker"
    pickle.loads(pickle.dumps(attacks(marker)["system"]))  # noqa: S301
    assert marker.exists()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.array([None, 1], dtype=object), "whole numbers"),
        (np.array(["text"]), "whole numbers"),
        (np.array([1.5]), "whole numbers"),
        (np.zeros(2, dtype=[("a", "i4")]), "whole numbers"),
        (np.zeros(2, dtype="M8[s]"), "whole numbers"),
        (np.zeros((1, 1, 1, 1, 1), dtype=np.uint8), "5 dimensions"),
        (np.ma.MaskedArray([1, 2]), "'numpy.ma"),
        (np.zeros(2, dtype=np.int32).view(np.recarray), "'numpy.rec"),
        ({(1, 2): 3}, "keys"),
        ({7: 3}, "keys"),
        ({"a": {"b": 1, None: 2}}, "keys"),
        ({1, 2}, "EMPTY_SET"),
        (1.5, "BINFLOAT"),
        (Path("x"), "'pathlib"),
    ],
)
def test_what_arrays_of_whole_numbers_do_not_need_is_refused(tmp_path: Path, value: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_pickle(written(tmp_path, pickle.dumps(value, protocol=4)))


RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
EMPTY_ARRAY = RECONSTRUCT + b"cnumpy\nndarray\nK\x00\x85U\x01b\x87R"
BYTE_TYPE = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
STATE = b"(K\x01K\x02\x85" + BYTE_TYPE + b"\x89U\x02abt"  # two bytes, "ab"


def test_the_pieces_below_make_an_array_when_nothing_is_wrong(tmp_path: Path) -> None:
    value: Any = read_pickle(written(tmp_path, b"\x80\x02" + EMPTY_ARRAY + STATE + b"b."))
    assert value.numpy().tolist() == list(b"ab")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (RECONSTRUCT + b"cnumpy\ndtype\nK\x00\x85U\x01b\x87R", "special"),
        (RECONSTRUCT + b"X\x03\x00\x00\x00strK\x00\x85U\x01b\x87R", "special"),
        (RECONSTRUCT + b")R", r"_reconstruct\(\)"),
        (RECONSTRUCT + b"}(U\x01aK\x01ub", "function"),
        (RECONSTRUCT + b"N}(U\x0c__defaults__K\x01\x85u\x86b", "function"),
        (b"cnumpy\nndarray\nK\x05\x85R", "unusual"),
        (b"cnumpy\nndarray\nK\x05\x85\x81", "NEWOBJ"),
        (b"(cnumpy\nndarray\nK\x05o", "OBJ"),
        (b"(K\x05inumpy\nndarray\n", "INST"),
        (EMPTY_ARRAY + STATE + b"b" + STATE + b"b", "twice"),
        (EMPTY_ARRAY + STATE.replace(b"K\x02\x85", b"K\x03\x85") + b"b", "3 .* 2 bytes"),
        (
            EMPTY_ARRAY + STATE.replace(b"K\x02\x85", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86") + b"b",
            "2147483647 x .* 2 bytes",
        ),
        (EMPTY_ARRAY + STATE.replace(b"K\x02\x85", b"J\xfe\xff\xff\xff\x85") + b"b", "0 or more"),
        (EMPTY_ARRAY + STATE.replace(BYTE_TYPE, b"U\x02u1") + b"b", "unknown"),
        (EMPTY_ARRAY + STATE.replace(b"U\x02ab", b"]") + b"b", "unknown"),
        (EMPTY_ARRAY + STATE.replace(b"u1", b"O8") + b"b", "whole numbers"),
        (EMPTY_ARRAY + b"}b", "unknown"),
        (BYTE_TYPE + b"(K\x03U\x01|NU\x01a\x85NJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb", "records"),
        (b"cnumpy\ndtype\n" + BYTE_TYPE + b"\x85R", "whole numbers"),
        (b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R", "latin1"),
        (b"c_codecs\nencode\nK\x01X\x06\x00\x00\x00latin1\x86R", "latin1"),
        (b"c_codecs\ndecode\nX\x01\x00\x00\x00a\x85R", r"'_codecs'\.'decode'"),
        (b"U\x01aQ", "BINPERSID"),
        (b"\x82\x01", "EXT1"),
        (b"Nr" + struct.pack("<I", 2**31), "2147483648 .* 0 "),
        (b"K\x01K\x01\x86q\x00h\x00\x86", "two places"),
        (b"]q\x00h\x00a", "two places"),
        (b"K\x01K\x01\x86Nbq\x00h\x00\x86", "two places"),
        (b"U\x01aq\x00K\x01\x85q\x00h\x00", "two places"),
        (b"h\x07", "two places"),
        (b"K\x01K\x01s", "keys"),
        (b"K\x01s", "empty stack"),
        (b"K\x01u", "empty stack"),
        (b"B" + struct.pack("<I", 2**31) + b"abc", "cut short"),
        (b"\x96" + struct.pack("<Q", 2**62) + b"abc", "cut short"),
        (b"}(]K\x01u", "keys"),
        (b"U\x41" + b"a" * 65 + b"q\x00h\x00", "long text"),
    ],
)
def test_a_program_that_misuses_what_is_allowed_is_refused(tmp_path: Path, program: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_pickle(written(tmp_path, b"\x80\x02" + program + b"."))


def test_a_tower_of_nested_tuples_is_never_hashed(tmp_path: Path) -> None:
    """As a key of a dict, a million of them would end the process."""
    with pytest.raises(DataError, match="keys"):
        read_pickle(written(tmp_path, b"\x80\x04})" + b"\x85" * 1_000_000 + b"Ns."))


def test_recalled_texts_do_not_multiply(tmp_path: Path) -> None:
    """Each call of encode would copy the text."""
    text = b"X" + struct.pack("<I", 10_000) + b"a" * 10_000 + b"q\x00"
    encode, latin = b"c_codecs\nencode\nq\x01", b"X\x06\x00\x00\x00latin1q\x02"
    calls = b"h\x01h\x00h\x02\x86R" * 100
    with pytest.raises(DataError, match="long text"):
        read_pickle(written(tmp_path, b"\x80\x02](" + text + encode + latin + calls + b"e."))


def test_a_tower_of_shared_tuples_is_refused_at_once(tmp_path: Path) -> None:
    """As a key of a dict it would be hashed, which takes 2^60 steps."""
    tower: tuple[Any, ...] = (1, 1)
    for _ in range(60):
        tower = (tower, tower)
    program = pickle.dumps(tower, protocol=2)[2:-1]
    with pytest.raises(DataError, match="two places"):
        read_pickle(written(tmp_path, b"\x80\x02}" + program + b"K\x01s."))


@pytest.mark.parametrize("name", ["persistent_load", "find_class"])
def test_the_reader_refuses_by_itself_what_the_look_ahead_would_let_pass(name: str) -> None:
    reader = safe_pickle._NothingRuns(BytesIO())
    with pytest.raises(DataError):
        getattr(reader, name)(*(("os", "system") if name == "find_class" else ("a",)))


@pytest.mark.parametrize("length", [0, 1, 10, 100, 1000, -1])
def test_a_pickle_that_is_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    content = python_2_pickle(content_of("train"))
    with pytest.raises(DataError, match=r"data\.pkl"):
        read_pickle(written(tmp_path, content[:length]))


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")  # of texts that damage makes
def test_a_damaged_pickle_is_refused_or_read_and_never_crashes(tmp_path: Path) -> None:
    content = pickle.dumps({"a": np.arange(20, dtype=np.uint8), "b": {"c": [1, 2]}}, protocol=2)
    generator = np.random.default_rng(5)
    for _ in range(400):
        damaged = bytearray(content)
        for place in generator.integers(0, len(content), size=3):
            damaged[place] = generator.integers(0, 256)
        try:
            read_pickle(written(tmp_path, bytes(damaged)))
        except DataError:
            continue


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.pkl"):
        read_pickle(tmp_path / "nowhere.pkl")
