"""The number of the newest list of revoked certificates that was in use here: a restart must not make it forgotten."""

import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from siloseal.federation.errors import CertificateError
from siloseal.federation.records.storage import make_folder, write_atomically


class NewestList:
    """A small file that counts for one authority: another one's lists begin at 1 again, and so does the count."""

    def __init__(self, path: Path, authority: x509.Certificate) -> None:
        self._path, self._authority = path, authority.fingerprint(SHA256()).hex()
        self.number = self._read()

    def remember(self, number: int) -> None:
        """Keep the number on the disk before returning. A lower number changes nothing."""
        if number <= self.number:
            return
        make_folder(self._path.parent, mode=0o700)
        content = json.dumps({"authority": self._authority, "number": number})
        write_atomically(self._path, content.encode() + b"\n", mode=0o600)
        self.number = number

    def _read(self) -> int:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return 0
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        match found:
            case {"authority": str(authority), "number": int(number)}:
                return number if authority == self._authority else 0
        raise CertificateError(
            f"{self._path} is damaged, expected the number of the newest list of revoked certificates; restore it from "
            "a backup, or remove it once you know that the list here is the authority's newest"
        )
