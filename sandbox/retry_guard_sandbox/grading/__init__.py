"""Grading: what became of each intended write, counted from effects and from nothing else."""
