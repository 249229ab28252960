"""Privacy audits: the code that runs is put to the test against what the ledger books for it."""
