"""Pictures in a zip archive, read where they are: nothing is unpacked, so no entry can land outside its folder."""

import zipfile
import zlib
from functools import partial
from pathlib import Path, PurePosixPath

from siloseal.federation.errors import DataError
from siloseal.silo.data.paths import stays_inside
from siloseal.silo.data.pictures import IMAGE_SUFFIXES, Picture, file_stamp

LARGEST_ENTRY = 2**20  # bytes; Omniglot's have about 300
MOST_ENTRIES = 500_000
_ENCRYPTED = 0x1
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others may reserve gigabytes to unpack a byte


def open_zip(path: Path) -> zipfile.ZipFile:
    """The archive, for the caller to close."""
    try:
        return zipfile.ZipFile(path)
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read as a zip archive ({error}); fetch it again") from error


def zip_pictures(archive: zipfile.ZipFile, path: Path) -> list[tuple[tuple[str, ...], Picture]]:
    """Every picture with the parts of its name, in order of name; the hidden files of an operating system are none."""
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise DataError(f"{path} holds {len(entries)} entries, expected at most {MOST_ENTRIES}; fetch it again")
    stamp = file_stamp(path)
    found = list[tuple[tuple[str, ...], Picture]]()
    for entry in sorted(entries, key=lambda entry: entry.filename):
        _check(entry, path)
        parts = PurePosixPath(entry.filename).parts
        if entry.is_dir() or any(part.startswith((".", "__MACOSX")) for part in parts):
            continue
        if PurePosixPath(entry.filename).suffix.lower() not in IMAGE_SUFFIXES:
            raise DataError(f"{path} holds {entry.filename!r}, which is not an image; remove it from the archive")
        name, content = f"{path}/{entry.filename}", partial(_content, archive, entry)
        found.append((parts, Picture(name, (*stamp, entry.file_size, entry.CRC), content)))
    return found


def _check(entry: zipfile.ZipInfo, path: Path) -> None:
    if not entry.filename or not stays_inside(entry.filename):
        raise DataError(
            f"{path} holds the entry {entry.filename!r}, whose name leads out of the archive; it was made to do harm: "
            "fetch it again from a source you trust"
        )
    if entry.file_size > LARGEST_ENTRY:
        raise DataError(
            f"{path} holds {entry.filename!r} of {entry.file_size} bytes, expected at most {LARGEST_ENTRY} for a "
            "character; fetch it again from a source you trust"
        )
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _PLAIN:
        raise DataError(
            f"{path} holds {entry.filename!r} encrypted or packed in an unusual way; pack it again with plain zip"
        )


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The entry's bytes. Asking for one more than announced keeps the archive's reader from unpacking more."""
    try:
        with archive.open(entry) as stream:
            return stream.read(entry.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise OSError(str(error)) from error  # which whoever decodes the picture reports with its name
