"""NumPy arrays out of a pickle, without running anything that the pickle asks for.

A pickle names functions to call, and the usual reader calls them: `os.system` as readily as numpy's. Here a name leads
to one of the few functions below or is refused. Not even numpy's own are handed out: those below only write down what
the file says, and check it.
"""

import mmap
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from siloseal.federation.errors import DataError
from siloseal.silo.data.pickle_scan import check_instructions
from siloseal.silo.data.pickled_array import PickledArray, PickledDtype, as_bytes

# What the reader raises over a damaged file, which depends on where the damage is.
_DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    MemoryError,
)


def read_pickle(path: Path) -> object:
    """The content of a pickle of dicts, lists, texts, numbers and arrays of whole numbers, arrays as `PickledArray`."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            check_instructions(content)
            content.seek(0)
            return _NothingRuns(content, encoding="latin1").load()  # latin1: Python 2 wrote bytes and texts alike
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); correct its permissions") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except _DAMAGED as error:
        raise DataError(f"{path} cannot be read as a pickle of arrays ({error}); fetch it again") from error


class _Named:
    """A callable that a name in the pickle leads to.

    An object without a dict, and not a function: the pickle could set a function's defaults, for all later readers.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., object]) -> None:
        self._call = call

    def __call__(self, *arguments: object) -> object:
        return self._call(*arguments)

    def __setstate__(self, state: object) -> None:
        raise DataError("the pickle changes a function, expected only calls; it was made to do harm: delete it")


def _not_called(*_arguments: object) -> object:
    raise DataError("the pickle builds an array in an unusual way; write it with pickle.dump from a plain array")


def _reconstruct(kind: object, _shape: object, _code: object) -> PickledArray:
    """An empty array, whose shape and content follow as its state."""
    if kind is not _NDARRAY:
        raise DataError("the pickle holds a special kind of array, expected numpy.ndarray; write it from a plain array")
    return PickledArray()


def _from_buffer(content: object, dtype: object, shape: object, order: object, *_axes: object) -> PickledArray:
    """An array as protocol 5 writes it."""
    if order not in ("C", "F"):
        raise DataError("the pickle holds an array in an unusual order; write it from numpy.ascontiguousarray(array)")
    array = PickledArray()
    array.__setstate__((1, shape, dtype, order == "F", content))
    return array


def _scalar(dtype: object, content: object) -> int:
    array = PickledArray()
    array.__setstate__((1, (), dtype, False, content))
    return int(array.numpy())


def _encode(text: object, encoding: object) -> bytes | bytearray:
    """Bytes as Python 3 writes them in protocol 2."""
    if not isinstance(text, str) or encoding != "latin1":
        raise DataError("the pickle encodes something else than bytes in latin1; write it with protocol 4 or 5")
    return as_bytes(text)


def _ordered_dict(*content: object) -> dict[str, object]:
    """An empty dict, whose items follow one by one."""
    if content:
        raise DataError("the pickle builds a dict in an unusual way; write it with pickle.dump from a plain dict")
    return {}


_NDARRAY = _Named(_not_called)
_OF_NUMPY = {
    "multiarray": {"_reconstruct": _Named(_reconstruct), "scalar": _Named(_scalar)},
    "numeric": {"_frombuffer": _Named(_from_buffer)},
}
_ALLOWED = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _Named(PickledDtype),
    ("_codecs", "encode"): _Named(_encode),
    ("collections", "OrderedDict"): _Named(_ordered_dict),
    **{
        (f"numpy.{core}.{module}", name): stand_in
        for core in ("core", "_core")  # before and since numpy 2
        for module, names in _OF_NUMPY.items()
        for name, stand_in in names.items()
    },
}


class _NothingRuns(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> _Named:
        if (module, name) not in _ALLOWED:
            raise DataError(
                f"the pickle asks to run {module[:80]!r}.{name[:80]!r}, which a dict of arrays does not need, and "
                "which was not run; delete the file, and fetch it again from a source you trust"
            )
        return _ALLOWED[module, name]

    def persistent_load(self, _pid: object) -> NoReturn:
        raise DataError("the pickle refers to something outside of itself, which is refused; fetch it again")
