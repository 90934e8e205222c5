"""Everything that "auto" means: null clouds, what clusters explain beyond them, and what is chosen by it."""
