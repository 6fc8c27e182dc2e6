"""Measured rows, kept with what they depended on."""
