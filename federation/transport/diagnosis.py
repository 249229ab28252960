"""Why a connection does not come about, in words: gRPC says UNAVAILABLE for nearly everything."""

import socket
import ssl

from siloseal.federation.errors import CertificateError, SiloSealError, Unreachable
from siloseal.federation.transport.config import Tls

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
                # Some send an alert then; gRPC's hang up without a word, and greet whom they let in.
                secure.settimeout(PROBE_SECONDS)
                if not secure.recv(1):
                    return _refused(where, tls, "it hung up when it had seen it")
    except ssl.SSLCertVerificationError as error:
        return CertificateError(
            f"the aggregator at {where} shows a certificate that does not hold here ({error.verify_message}); is it "
            "the consortium's aggregator, its certificate renewed in time, and this machine's clock right?"
        )
    except (ConnectionError, ssl.SSLEOFError):
        return Unreachable(f"no aggregator listens at {where}, or it hung up; is it running?")
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        if "ALERT" in (error.reason or ""):  # OpenSSL's name of what came in, such as TLSV1_ALERT_UNKNOWN_CA
            return _refused(where, tls, reason)
        return Unreachable(f"what listens at {where} does not speak TLS ({reason}); is it the aggregator's port?")
    except TimeoutError:
        return Unreachable(
            f"the aggregator at {where} does not answer ({words}); has it hung, or is a firewall in between?"
        )
    except socket.gaierror as error:
        return Unreachable(f"the name {host} leads nowhere ({error.strerror}); is it written right in the config?")
    except OSError as error:
        return Unreachable(f"the aggregator at {where} cannot be reached ({error}); is the network up?")
    return Unreachable(f"the connection to the aggregator at {where} was lost ({words})")


def _refused(where: str, tls: Tls, reason: str) -> CertificateError:
    return CertificateError(
        f"the aggregator at {where} refuses the certificate in {tls.certificate} ({reason}); is it from this "
        "consortium's authority, still valid, and both machines' clocks right?"
    )
