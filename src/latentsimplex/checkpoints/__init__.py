"""Checkpoints: the state of a long fit in a folder, from which a fit of the same data and settings resumes."""
