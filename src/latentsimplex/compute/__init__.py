"""The hot loops: pair layout, co-assignments over tiles, the fused pass over a block of views."""
