"""Everything that may see data or a key share: data, training, the ledger, the silo itself."""
