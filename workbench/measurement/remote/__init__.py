"""Builds on other processes, runs on the devices of a tracker."""
