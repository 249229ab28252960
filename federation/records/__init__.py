"""What a party keeps on its disk, and who it is: audit log, chained files, roster, identity."""
