"""What is known of some samples, and what it says of clusters: classes, and links between samples."""
