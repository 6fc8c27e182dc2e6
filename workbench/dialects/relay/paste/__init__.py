"""Reads Relay out of what people paste: damaged, partial, several modules at once, with prose around it.

Text is read as TVM prints it first (text/). Only where that fails is it repaired, and everything repaired or assumed
becomes a note:

    characters   what web pages and terminals do to characters: quotes, dashes, entities, comments, prompts
    pieces       what is found of one program
    salvage      where in the text programs are, and what of a program is missing
    modules      which pieces belong together, and their text as TVM would have printed it
    free         what is known of variables that nothing binds
    reading      all of it in order: a paste becomes readings, each one module with its notes
    workload     a Workload of a reading, where no TVM runs Relay

All of it is linear in the text, and nothing recurses.
"""

from workbench.dialects.relay.paste.reading import Reading as Reading
from workbench.dialects.relay.paste.reading import read_all as read_all
