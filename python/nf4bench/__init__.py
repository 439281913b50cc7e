"""nf4bench."""
