"""Semi-supervised clustering: labels of some samples and links between samples, and what they say about clusters."""
