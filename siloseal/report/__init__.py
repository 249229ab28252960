"""Reports: what a run or a comparison tells its reader."""
