"""Silos of the test's own, as an engine."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from siloseal.federation.transport.engine import Accept, LocalEngine
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION


class Answering:
    """An engine that counts what it is asked, and answers with what the test prepared."""

    def __init__(self, answer: Callable[[str, pb.Request], bytes]) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        self.asked += requests
        answers = {silo: partial(self._answer, silo, pb.Request.FromString(r)) for silo, r in requests.items()}
        engine = LocalEngine({silo: lambda _, answer=answer: answer() for silo, answer in answers.items()}, workers=1)
        engine.ask(requests, deadline_seconds=deadline_seconds, fewest=fewest, largest=largest, accept=accept)


def reply_to(request: pb.Request, silo: str, **body: Any) -> bytes:
    digest = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
    return pb.Reply(
        number=request.number, silo=silo, request_digest=digest, protocol_version=PROTOCOL_VERSION, **body
    ).SerializeToString()
