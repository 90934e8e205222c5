"""The shortest use of the package: three views of 150 samples, of which views 0 and 1 have the same clusters."""

from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import running_example

data = running_example(n_samples=150, separation=6, random_state=0)
model = LatentSimplexPosition(n_clusters=3, n_patterns=3, random_state=0).fit(data.views)
print(model.view_patterns_, model.labels_, model.memberships_[0].round(2), sep="\n")
