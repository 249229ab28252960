"""Why a connection does not come about, in words: gRPC says UNAVAILABLE for nearly everything."""

import socket
import ssl

from federation.config.deployment import Tls
from federation.errors import CertificateError, SiloSealError, Unreachable

PROBE_SECONDS = 5.0


def diagnose(host: str, port: int, tls: Tls, words: str) -> SiloSealError:
    """Try the handshake once more by hand, and look where it fails.

    Wrong certificates are a `CertificateError`, which no waiting mends; the rest may pass.
    """
    where = f"{host}:{port}"
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(tls.authority))
    context.load_cert_chain(tls.certificate, tls.key)
    context.set_alpn_protocols(["h2"])
    try:
        with socket.create_connection((host, port), timeout=PROBE_SECONDS) as plain:
            with context.wrap_socket(plain, server_hostname=host) as secure:
                # In TLS 1.3 a server refuses our certificate after the handshake, when it is first read from.
                secure.settimeout(PROBE_SECONDS)
                secure.recv(1)
    except ssl.SSLCertVerificationError as error:
        return CertificateError(
            f"the aggregator at {where} shows a certificate that does not hold here ({error.verify_message}); is it "
            "the consortium's aggregator, its certificate renewed in time, and this machine's clock right?"
        )
    except ssl.SSLError as error:
        return CertificateError(
            f"the aggregator at {where} refuses this silo's certificate ({_reason(error)}); is it from this "
            "consortium's authority, still valid, and both machines' clocks right?"
        )
    except TimeoutError:
        return Unreachable(f"the aggregator at {where} does not answer ({words}); is a firewall in between?")
    except socket.gaierror as error:
        return Unreachable(f"the name {host} leads nowhere ({error.strerror}); is it written right in silo.yaml?")
    except ConnectionError:
        return Unreachable(f"no aggregator listens at {where}, or it hung up; is it running?")
    except OSError as error:
        return Unreachable(f"the aggregator at {where} cannot be reached ({error}); is the network up?")
    return Unreachable(f"the connection to the aggregator at {where} was lost ({words})")


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
