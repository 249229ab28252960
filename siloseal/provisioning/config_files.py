"""The config files of the kits, with a comment at whatever their owner should think about."""

from typing import Any

import yaml

from siloseal.federation.config.section import Section
from siloseal.federation.records.roster import Roster
from siloseal.provisioning.consortium import Consortium, Member
from siloseal.silo.config import Policy

_TLS = """\
tls:                              # paths are taken from where this file lies
  certificate: {stem}.crt
  key: {stem}.key{pad}# readable by its owner only (chmod 600), or it is refused
  authority: ca.crt               # certificates of nobody else are accepted"""


def silo_yaml(consortium: Consortium, member: Member) -> str:
    """The text of silo.yaml."""
    classes = "# classes: [0, 1]" if member.classes is None else f"classes: {one_line(list(member.classes))}"
    return f"""\
# The silo {member.name} of {consortium.name}. This file is the silo's own: check it before the first start.
name: {one_line(member.name)}

{_aggregator(consortium)}

{_tls("silo")}
identity: identity.key            # the silo signs with it what the other silos check
roster: roster.yaml               # everyone's public identity keys

# Ledgers, checkpoints, replies and audit log. The ledgers say how much privacy is spent: never delete this folder.
state: state

# The private examples. They never leave this machine.
data: {one_line(_given(member.data))}
# data: {{kind: folder, path: /data/images, side: 28, class_names: [normal, pneumonia]}}    # one folder a class
# data: {{kind: npz, path: /data/images.npz}}                                               # arrays, or MedMNIST's file

# The classes that the silo declares to have, which everyone learns. All, if not given.
{classes}

# Code and weights of your own that jobs name and never carry: read them, put them here, list them in policy.learners.
# code: code

# The silo's last word: a job that asks for more is refused before anything touches the data.
{_commented(consortium.policy)}

limits:
  message_mib: 1024               # a larger request of the aggregator's is refused before it is read

# A page for Prometheus, in clear and for whoever reaches the port. Off if not given.
# metrics: {{host: 127.0.0.1, port: 9101}}
"""


def aggregator_yaml(consortium: Consortium) -> str:
    """The text of aggregator.yaml."""
    place = consortium.aggregator
    return f"""\
# The aggregator of {consortium.name}: one run of one job, served to the silos that dial in.
host: {one_line(place.listen)}{_pad(f"host: {one_line(place.listen)}")}# the address to listen at
port: {place.port}{_pad(f"port: {place.port}")}# the port that silos dial
job: job.yaml                     # the silos see it, and refuse it if it asks for more than their policies allow
roster: roster.yaml               # everyone's public identity keys, and who made them, which the report says

{_tls("aggregator")}
revoked: revoked.pem              # the authority's list of revoked certificates; read again when it changes

# Journal, audit log and models. The same folder continues the run after a stop.
state: state

# Code and weights of your own that the job names. The aggregator needs them too: it builds the first model.
# code: code

# A silent silo counts as gone after these times, if the job can do without it; else the aggregator waits on.
deadlines:
  training_minutes: 1440          # for local training, the slowest thing a silo is asked for
  message_minutes: 30             # for everything else

# A page for Prometheus, in clear and for whoever reaches the port. Off if not given.
# metrics: {{host: 127.0.0.1, port: 9100}}
"""


def operator_yaml(consortium: Consortium) -> str:
    """The text of operator.yaml."""
    return f"""\
# An operator of {consortium.name}: may ask the aggregator for its status, and nothing else.
{_aggregator(consortium)}

{_tls("operator")}
"""


def roster_yaml(roster: Roster) -> str:
    """The text of roster.yaml, the same bytes for everyone, so that two parties can compare its hash."""
    lines = "\n".join(f'  {one_line(name)}: "{roster.identities[name]}"' for name in sorted(roster.identities))
    return f"""\
# Everyone's public identity key. A silo believes only what was signed with one of these.
consortium: {one_line(roster.consortium)}
identities:
{lines}

# Silos whose private keys the authority made, who could sign in their names. All others made their own.
keys_made_by_authority: {one_line(list(roster.keys_made_by_authority or ()))}
"""


def one_line(value: Any) -> str:
    """A value as YAML on one line, in quotes where a name would read as a number or as true."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("...\n").strip()


def _aggregator(consortium: Consortium) -> str:
    place = consortium.aggregator
    host = f"  host: {one_line(place.host)}"
    return f"""\
aggregator:                       # whom to dial; nothing dials in
{host}{_pad(host)}# as in the aggregator's certificate
  port: {place.port}"""


def _tls(stem: str) -> str:
    return _TLS.format(stem=stem, pad=_pad(f"  key: {stem}.key"))


def _commented(policy: Policy) -> str:
    lines = ["policy:"]
    for name, value in policy.model_dump(mode="json").items():
        lines += [f"  # {Policy.model_fields[name].description}", f"  {name}: {one_line(value)}"]
    return "\n".join(lines)


def _given(section: Section) -> dict[str, Any]:
    """The settings that whoever wrote the section wrote, without the defaults."""
    return section.model_dump(mode="json", exclude_unset=True)


def _pad(text: str) -> str:
    """The spaces behind a text, so that comments stand in one column."""
    return " " * max(2, 34 - len(text))
