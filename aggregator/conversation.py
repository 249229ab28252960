"""The aggregator's side of the talk with the silos: numbered requests, journalled replies, counted bytes."""

import hashlib
from collections import Counter
from collections.abc import Mapping

from aggregator.journal import Journal
from federation.config.job import Job
from federation.engine import Engine, run_sum
from federation.errors import MessageError, RunError
from federation.secure_sum import SecureSum, Sum
from federation.session import Domain, Session
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode

DEADLINE_SECONDS = 24 * 3600.0
"""For local training, the slowest thing a silo is asked for."""


class Conversation:
    """Asks all silos of a step at once and gives their replies, each asked once in the run's life."""

    def __init__(self, job: Job, engine: Engine, journal: Journal) -> None:
        self.stage = "enrolment"
        self.identities: Mapping[str, bytes] = {}
        """Public keys, as the silos gave them; each silo checks those of the others."""
        self.sent: Counter[tuple[str, str]] = Counter()  # bytes from each (stage, silo)
        self.received: Counter[tuple[str, str]] = Counter()  # bytes to each (stage, silo)
        self._job = job
        self._engine = engine
        self._journal = journal
        self._number = 0
        self._sums = 0

    def ask(self, bodies: Mapping[str, pb.Request]) -> dict[str, pb.Reply]:
        """Every silo's reply. A refusal ends the run with the silo's own words."""
        self._number += 1
        encoded = dict[int, bytes]()  # silos that are asked the same share the bytes: a sum's messages can be large
        for body in bodies.values():
            if id(body) not in encoded:
                body.number, body.job_digest = self._number, self._job.digest
                encoded[id(body)] = body.SerializeToString(deterministic=True)
        requests = {silo: encoded[id(body)] for silo, body in bodies.items()}
        known = self._journal.replies(self._number, requests)
        missing = {silo: request for silo, request in requests.items() if silo not in known}
        fresh = self._engine.ask(missing, DEADLINE_SECONDS) if missing else {}
        replies = {silo: self._read(silo, reply) for silo, reply in {**known, **fresh}.items()}
        refused = {silo: reply.refusal for silo, reply in replies.items() if reply.WhichOneof("body") == "refusal"}
        self._journal.record(
            self._number, requests, {silo: reply for silo, reply in fresh.items() if silo not in refused}
        )
        if refused:
            raise RunError("\n".join(f"{silo} refused: {refusal.message}" for silo, refusal in refused.items()))
        if silent := set(bodies) - set(replies):
            raise RunError(f"{', '.join(sorted(silent))} did not answer in {DEADLINE_SECONDS:g} seconds; run again")
        for silo in replies:
            self.received[self.stage, silo] += len(requests[silo])
            self.sent[self.stage, silo] += len({**known, **fresh}[silo])
        return replies

    def sum(self, scheme: SecureSum, domain: Domain, roster: tuple[str, ...]) -> Sum:
        """One secure sum over what the silos have prepared; everyone on the roster must contribute."""
        self._sums += 1
        identity = hashlib.sha256(b"sum" + self._journal.run_id + self._sums.to_bytes(8, "big")).digest()
        keys = tuple(self.identities[silo] for silo in roster)
        session = Session(identity, roster, domain, scheme.name, quorum=len(roster), identities=keys)
        wire = session.to_wire()

        def ask(messages: Mapping[str, bytes]) -> Mapping[str, bytes]:
            bodies = {
                message: pb.Request(sum=pb.Sum(session=wire, message=message)) for message in set(messages.values())
            }
            replies = self.ask({silo: bodies[message] for silo, message in messages.items()})
            return {silo: reply.sum for silo, reply in replies.items()}

        return run_sum(scheme, session, ask)

    def _read(self, silo: str, data: bytes) -> pb.Reply:
        reply = decode(pb.Reply, data)
        if reply.silo != silo or reply.number != self._number:
            raise MessageError(
                f"{silo} was asked request {self._number}, but {reply.silo or 'nobody'} answered request {reply.number}"
            )
        return reply
