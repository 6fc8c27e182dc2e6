"""Patterns: read, written, and matched as TVM's DFPatternMatcher does, with the reason for each near miss."""

from workbench.analysis.patterns.pattern import Pattern, PatternBuilder, PatternNode

__all__ = ["Pattern", "PatternBuilder", "PatternNode"]
