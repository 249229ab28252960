"""What the config files of an aggregator and of a silo have in common: certificates, addresses, metrics."""

from pathlib import Path

from pydantic import Field

from siloseal.federation.config.fields import Host, Port
from siloseal.federation.config.section import Section


class Tls(Section):
    """Who this party is on the wire, and whose certificates it accepts. Paths are taken from where the file lies."""

    certificate: Path = Field(description="this party's certificate, PEM")
    key: Path = Field(description="its private key, PEM, readable by its owner only")
    authority: Path = Field(description="the consortium's authority, PEM: certificates of nobody else are accepted")


class Metrics(Section):
    """A page for Prometheus, in clear and for whoever reaches the port: keep it inside."""

    host: Host = Field(default="127.0.0.1", description="the address to listen at")
    port: Port = Field(description="the port of /metrics")
