"""``python -m latentsimplex``."""

from latentsimplex.cli import main

if __name__ == "__main__":
    main(prog_name="python -m latentsimplex")
