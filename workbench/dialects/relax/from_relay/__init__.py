"""Relay's operators as Relax's: today's TVM for a graph that was read from text, without a Relay TVM."""

from workbench.dialects.relax.from_relay.translate import translate, unsupported

__all__ = ["translate", "unsupported"]
