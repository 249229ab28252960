"""Who may come in: bearers of a certificate of the consortium that is valid now, and not revoked."""

from datetime import UTC, datetime

import grpc

from siloseal.federation.errors import CertificateError
from siloseal.federation.transport.pki.certificates import Bearer, Revocations, Role, bearer_of, require_valid


class Admission:
    """The check of every call, repeated before every request that leaves: a revocation takes effect at once."""

    def __init__(self, consortium: str, silos: tuple[str, ...], revocations: Revocations) -> None:
        self._consortium, self._silos, self._revocations = consortium, silos, revocations

    def bearer(self, context: grpc.ServicerContext) -> Bearer:
        """Whoever calls, if the consortium knows it. TLS has checked the authority's signature."""
        pem = context.auth_context().get("x509_pem_cert", [b""])[0]
        bearer = bearer_of(pem)
        if bearer.consortium != self._consortium:
            raise CertificateError(f"the certificate is that of {bearer}, but this is {self._consortium}")
        require_valid(bearer, datetime.now(UTC))
        self._revocations.require_not_revoked(bearer)
        return bearer

    def named(self, context: grpc.ServicerContext) -> str:
        """The silo whom the caller's certificate names, valid or not; empty if it names none of the job's silos."""
        try:
            bearer = bearer_of(context.auth_context().get("x509_pem_cert", [b""])[0])
        except CertificateError:
            return ""
        return bearer.name if bearer.role is Role.SILO and bearer.name in self._silos else ""

    def silo(self, context: grpc.ServicerContext) -> str:
        """The calling silo's name, if it takes part in the job."""
        bearer = self.bearer(context)
        if bearer.role is not Role.SILO or bearer.name not in self._silos:
            raise CertificateError(
                f"the certificate is that of {bearer}, expected one of the job's silos, {', '.join(self._silos)}"
            )
        return bearer.name
