"""Analyses of a fit: features of clusters, views against covariates, related patterns, audit of the consensus."""

from latentsimplex.analysis.association import PatternAssociation, associate_model, associate_patterns
from latentsimplex.analysis.audit import ConsensusAudit, audit_consensus, consensus_weights
from latentsimplex.analysis.cluster_features import describe_clusters
from latentsimplex.analysis.permutation import adjust_for_false_discovery
from latentsimplex.analysis.screening import Covariate, Screening, read_covariates, screen, screen_model

__all__ = [
    "ConsensusAudit",
    "Covariate",
    "PatternAssociation",
    "Screening",
    "adjust_for_false_discovery",
    "associate_model",
    "associate_patterns",
    "audit_consensus",
    "consensus_weights",
    "describe_clusters",
    "read_covariates",
    "screen",
    "screen_model",
]
