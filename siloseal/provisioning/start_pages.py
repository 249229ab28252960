"""START.md of each kit: what its owner checks first, and the one command."""

import textwrap
from datetime import datetime

from siloseal.federation.records.roster import Roster
from siloseal.provisioning.consortium import Consortium, Member
from siloseal.silo.config import OwnScript

_COMPARE = """\
2. **Is it the same consortium?** `sha256sum ca.crt roster.yaml` must print here what it prints at another party. Ask
   over the telephone: whoever could alter both files on their way could pose as everybody else."""

_KEYS_MADE_FOR_YOU = """\
1. **How did this folder come?** It holds {keys}: whoever reads it can pose as you. It must have
   come over a channel that only you read; if anybody else may have read it, do not start, and ask for another. Copying
   may have changed who can read the keys: `chmod 700 . && chmod 600 *.key`."""

_OWN_KEYS = """\
1. **Put this folder's files beside your own `silo.key` and `identity.key`**, which `siloseal provision request` made
   and nobody else has. There is no secret in this folder."""

_RENEWAL = """\
The certificate that came with this page is valid until {until:%Y-%m-%d}. Before that day, have the authority run
`siloseal provision renew {name}` and put the new `{stem}.crt` in the place of the old one; the key stays."""

_START = """\
Then, in this folder:

    siloseal silo --config silo.yaml
"""

_START_SCRIPT = """\
Then start your own training script in this folder. It averages its module with the others', as docs/averages.md shows:

    with siloseal.open_session("silo.yaml") as session:
        siloseal.sealed_average(module, weight=examples, session=session)
"""


def silo_page(consortium: Consortium, member: Member, roster: Roster, until: datetime) -> str:
    """The page of a silo."""
    made_for_it = member.name in (roster.keys_made_by_authority or ())
    first = _KEYS_MADE_FOR_YOU.format(keys="`silo.key`, `identity.key`") if made_for_it else _OWN_KEYS
    return f"""\
# Start here: the silo {member.name} of {consortium.name}
{_warning(roster)}
Before the first start:

{first}
{_COMPARE}
3. **Where are your data?** `data` in `silo.yaml` must name your own; they never leave this machine.
4. **What may others ask of you?** `policy` in `silo.yaml` is your last word, and every line says what it means. What is
   there is the consortium's proposal: narrow it as you like. A job that asks for more is refused. Code of a user's own
   runs only if `policy.learners` lists it with its digest: read it before you do, and put it into a folder
   `code` beside the file, and take the `#` from its line `code: code`.

{_START_SCRIPT if isinstance(member.data, OwnScript) else _START}
It dials {consortium.aggregator.host}, port {consortium.aggregator.port}; nothing dials in, so no port has to be opened.
After a stop the same command continues. Keep the folder `state`: it says how much of your privacy budget is spent.

{_RENEWAL.format(until=until, name=member.name, stem="silo")}
"""


def aggregator_page(consortium: Consortium, roster: Roster, until: datetime) -> str:
    """The page of the aggregator."""
    names = ", ".join(member.name for member in consortium.silos)
    place = consortium.aggregator
    return f"""\
# Start here: the aggregator of {consortium.name}
{_warning(roster)}
Before the first start:

{_KEYS_MADE_FOR_YOU.format(keys="`aggregator.key`")}
{_COMPARE}
3. **Can the silos reach you?** They dial {place.host}, port {place.port}, and believe no other name or address: only
   that one stands in the certificate.
4. **Is it the right job?** `job.yaml` is what the silos ({names}) will be asked to do.

Then, in this folder:

    siloseal aggregator --config aggregator.yaml

After a stop the same command continues. When a certificate is revoked, copy the new `revoked.pem` here: it is read
again without a restart.

{_RENEWAL.format(until=until, name="aggregator", stem="aggregator")}
"""


def _warning(roster: Roster) -> str:
    """A warning of what everyone must know of the keys, in a paragraph of its own."""
    return f"\n{textwrap.fill(f'**{roster.warning}**', 120)}\n" if roster.warning else ""


def operator_page(consortium: Consortium, until: datetime) -> str:
    """The page of whoever watches the run."""
    secret = _KEYS_MADE_FOR_YOU.format(keys="`operator.key`")
    return f"""\
# Start here: the operator of {consortium.name}

Whoever holds this folder may ask the aggregator for its status, and nothing else. Before the first start:

{secret}

Then, in this folder:

    siloseal status --config operator.yaml

{_RENEWAL.format(until=until, name="operator", stem="operator")}
"""
