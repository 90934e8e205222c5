"""The model of the paper and how it is fitted: expectation-maximisation, penalties, descent, where M steps run."""
