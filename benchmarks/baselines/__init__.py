"""What the benchmarks compare with: the author's recipe and plain kernels, in NumPy and in torch."""
