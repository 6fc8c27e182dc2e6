"""Patterns: read, written, matched as TVM's DFPatternMatcher does, and, for a near miss, what stopped it."""

from workbench.analysis.patterns.pattern import Pattern, PatternBuilder, PatternNode

__all__ = ["Pattern", "PatternBuilder", "PatternNode"]
