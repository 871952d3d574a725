"""What a run found, for people to look at."""
