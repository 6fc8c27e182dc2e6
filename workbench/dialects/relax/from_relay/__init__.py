"""Relay's operators as Relax's: a way onto today's TVM for a graph that was read from text, with no Relay TVM there."""

from workbench.dialects.relax.from_relay.translate import translate, unsupported

__all__ = ["translate", "unsupported"]
