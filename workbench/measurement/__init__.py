"""Counts and times of builds, with the conditions of every number."""
