"""The rounds by their bare names, for tables that name rounds of several schemes."""

from siloseal.federation.sums.joint_key.statements import Round

COMMIT_KEY, REVEAL_KEY, COMMIT_CIPHERTEXT, UPLOAD, OPEN, CONFIRM, RECOVER = Round
