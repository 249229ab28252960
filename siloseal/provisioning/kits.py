"""Makes the kits of a consortium, and brings them up to date without touching what their owners rely on."""

from collections.abc import Collection, Mapping
from pathlib import Path

from siloseal.federation.analytics.any_job import AnyJob, load_any_job
from siloseal.federation.errors import CertificateError, ConfigError, PolicyRefused
from siloseal.federation.job.releases import Lengths
from siloseal.federation.records.roster import Roster, read_roster
from siloseal.federation.records.storage import locked, make_folder
from siloseal.federation.transport.pki.authority import CERTIFICATE, REVOKED, Authority
from siloseal.federation.transport.pki.certificates import Role, read_private_key
from siloseal.federation.transport.pki.keys import public_key_of, require_p256
from siloseal.provisioning import start_pages
from siloseal.provisioning.addresses import note_other_address
from siloseal.provisioning.awaited import Requests, awaited, read_requests, require_new, what_to_do
from siloseal.provisioning.config_files import aggregator_yaml, operator_yaml, roster_yaml, silo_yaml
from siloseal.provisioning.consortium import RESERVED, Consortium, Member, read_consortium
from siloseal.provisioning.credentials import certify, identity_of, key_path, standing
from siloseal.provisioning.kit import Kit
from siloseal.provisioning.request import IDENTITY_KEY, TLS_KEY
from siloseal.silo.allowance import NOTHING_SPENT
from siloseal.silo.policy import check_policy

AUTHORITY, AGGREGATOR, OPERATOR = RESERVED
ROSTER, PAGE = "roster.yaml", "START.md"


def provision(config: Path, out: Path) -> list[str]:
    """The kits of the consortium in this file, a line for each thing done. The files are checked before any is written.

    While requests are missing, it makes what it can and says what it waits for. A second time it adds what is missing.
    Killed in the middle, it continues.
    """
    consortium = read_consortium(config)
    job, requests = consortium.job.read_bytes(), read_requests(consortium)
    missing = awaited(consortium, requests)
    new = _create_authority(consortium.name, out)
    with Authority.opened(out / AUTHORITY) as authority:
        root = _authority_kit(authority, consortium.name, out, new=new)
        require_new(missing, authority, out)
        _require_trusted_keys(consortium, requests, authority, out)
        return [*_fill(root, consortium, requests, authority, job), *what_to_do(missing, config, out)]


def _fill(root: Kit, consortium: Consortium, requests: Requests, authority: Authority, job: bytes) -> list[str]:
    out = root.folder.parent
    # A roster that lacks somebody is of no use to anyone, so no silo gets a kit before all requests are here.
    complete = not awaited(consortium, requests)
    silos = {member.name: Kit(out / member.name) for member in consortium.silos} if complete else {}
    roster = _settle_roster(root, silos, requests, authority) if complete else None
    aggregator, operator = Kit(out / AGGREGATOR), Kit(out / OPERATOR)
    _fill_aggregator(aggregator, consortium, authority, roster, job)
    if roster is not None:
        for member in consortium.silos:
            _fill_silo(silos[member.name], consortium, member, requests, authority, roster)
        root.notes += [roster.warning] if roster.warning else []
    _fill_operator(operator, consortium, authority)
    _note_who_left(root, consortium, authority, out)
    _note_what_is_refused(root, consortium, load_any_job(consortium.job))
    if ROSTER in aggregator.updated:
        root.notes.append(f"{ROSTER} has changed: hand the new one to the aggregator and to every silo")
    return [line for kit in (root, aggregator, *silos.values(), operator) for line in kit.lines()]


def _note_what_is_refused(root: Kit, consortium: Consortium, job: AnyJob) -> None:
    """Note what policies refuse: silos may change them; but if nobody does, this comes out at enrolment only."""
    for member in consortium.silos:
        try:
            check_policy(consortium.policy, job, silo=member.name, lengths=Lengths(1, 1), spent=NOTHING_SPENT)
        except (PolicyRefused, ConfigError) as error:
            root.notes.append(str(error))
            return


def _create_authority(name: str, out: Path) -> bool:
    """Create the authority unless it is there."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file, expected a folder for the kits; give another --out")
    if (out / AUTHORITY).exists():
        return False
    if others := sorted(path.parent.name for path in out.glob(f"*/{CERTIFICATE}")):
        raise CertificateError(
            f"{out} has kits ({', '.join(others)}) but no authority, and a new one would make them useless; put the "
            f"folder {AUTHORITY} back, or give another --out"
        )
    make_folder(out, mode=0o700)
    with locked(out):  # there is no authority yet whose folder could be locked
        Authority.create(name, out / AUTHORITY)
    return True


def _authority_kit(authority: Authority, name: str, out: Path, *, new: bool) -> Kit:
    folder, files = out / AUTHORITY, ("ca.key", CERTIFICATE, REVOKED)
    if authority.name != name:
        raise ConfigError(
            f"{folder} is the authority of {authority.name}, but the consortium is {name}; give another --out"
        )
    root = Kit(folder)
    if not new:
        root.kept += files
        return root
    root.made += files
    root.notes += [
        "whoever has ca.key can make certificates in anybody's name: keep this folder offline, with a backup",
        "a kit that was handed over no longer needs its *.key files here; delete them, and they are not made again",
    ]
    return root


def _require_trusted_keys(consortium: Consortium, requests: Requests, authority: Authority, out: Path) -> None:
    """Check the keys before anything is written: no revoked key, and nobody with keys of two origins."""
    for name, request in requests.items():
        authority.require_never_revoked(name, require_p256(request.csr.public_key()))
        if present := [key for key in (TLS_KEY, IDENTITY_KEY) if (out / name / key).exists()]:
            raise ConfigError(
                f"{out / name} has {', '.join(present)}, but {name} sent a request for keys of its own; remove them "
                "from the kit, or the request"
            )
    roles = {AGGREGATOR: Role.AGGREGATOR, OPERATOR: Role.OPERATOR}
    for name in (*roles, *(member.name for member in consortium.silos)):
        path = key_path(out / name, roles.get(name, Role.SILO))
        if path.exists():
            authority.require_never_revoked(name, public_key_of(read_private_key(path)))


def _settle_roster(root: Kit, silos: Mapping[str, Kit], requests: Requests, authority: Authority) -> Roster:
    """The members' identities. The authority remembers former members' too, in case one comes back."""
    path = root.folder / ROSTER
    known = read_roster(path) if path.exists() else None
    before, own = ({}, set[str]()) if known is None else (known.identities, _who_made_their_own(known))
    identities = dict[str, str]()
    for name, kit in silos.items():
        requested = requests.get(name)
        identities[name] = identity_of(kit, name, authority, before) if requested is None else requested.identity
        if requested is not None:
            own.add(name)
        elif identities[name] != before.get(name):
            own.discard(name)
    ever = {**before, **identities}
    root.write(ROSTER, roster_yaml(_roster_of(authority, ever, own)).encode())
    return _roster_of(authority, identities, own)


def _who_made_their_own(roster: Roster) -> set[str]:
    """The silos that are known to have made their own keys. Rosters of earlier versions do not say who did."""
    made = roster.keys_made_by_authority
    return set() if made is None else set(roster.identities) - set(made)


def _roster_of(authority: Authority, identities: Mapping[str, str], own: Collection[str]) -> Roster:
    made = tuple(sorted(name for name in identities if name not in own))
    return Roster(consortium=authority.name, identities=dict(identities), keys_made_by_authority=made)


def _fill_aggregator(kit: Kit, consortium: Consortium, authority: Authority, roster: Roster | None, job: bytes) -> None:
    """Write all that is known yet: without a roster there is nothing to start."""
    days, hosts = consortium.valid_days, [consortium.aggregator.host]
    mine = certify(kit, authority, Role.AGGREGATOR, AGGREGATOR, valid_days=days, hosts=hosts)
    kit.write(CERTIFICATE, authority.certificate)
    kit.write(REVOKED, authority.crl())
    kit.write("job.yaml", job)
    kit.write_once("aggregator.yaml", aggregator_yaml(consortium).encode)
    note_other_address(kit, "aggregator.yaml", consortium.aggregator)
    if roster is not None:
        kit.write(ROSTER, roster_yaml(roster).encode())
        kit.write(PAGE, start_pages.aggregator_page(consortium, roster, mine.bearer.not_after).encode())


def _fill_silo(
    kit: Kit, consortium: Consortium, member: Member, requests: Requests, authority: Authority, roster: Roster
) -> None:
    request = requests.get(member.name)
    requested = None if request is None else require_p256(request.csr.public_key())
    days = consortium.valid_days
    mine = certify(kit, authority, Role.SILO, member.name, valid_days=days, requested=requested)
    kit.write(CERTIFICATE, authority.certificate)
    kit.write(ROSTER, roster_yaml(roster).encode())
    kit.write_once("silo.yaml", silo_yaml(consortium, member).encode)
    note_other_address(kit, "silo.yaml", consortium.aggregator)
    kit.write(PAGE, start_pages.silo_page(consortium, member, roster, mine.bearer.not_after).encode())
    if request is not None:
        kit.notes.append(f"made for request {request.fingerprint}; ask {member.name} whether it is theirs")


def _fill_operator(kit: Kit, consortium: Consortium, authority: Authority) -> None:
    mine = certify(kit, authority, Role.OPERATOR, OPERATOR, valid_days=consortium.valid_days)
    kit.write(CERTIFICATE, authority.certificate)
    kit.write_once("operator.yaml", operator_yaml(consortium).encode)
    note_other_address(kit, "operator.yaml", consortium.aggregator)
    kit.write(PAGE, start_pages.operator_page(consortium, mine.bearer.not_after).encode())


def _note_who_left(root: Kit, consortium: Consortium, authority: Authority, out: Path) -> None:
    names = {one.bearer.name for one in authority.issued() if one.bearer.role is Role.SILO}
    for name in sorted(names - {member.name for member in consortium.silos}):
        if standing(authority, name):
            root.notes.append(
                f"{name} has left, but its certificate stands: `siloseal provision revoke {name} --kits {out}`"
            )
