"""Reads Relay from pasted text: damaged, partial, several modules at once, with prose around it.

Text is first read in the form that TVM prints (parser/). Only if that fails is it repaired, and every repair and
assumption becomes a note:

    characters   damage by web pages and terminals: quotes, dashes, entities, comments, prompts
    salvage      the places of programs in the text, and the missing parts of a program
    free         types of variables that nothing binds
    reading      the whole process: a paste becomes readings, each one module with its notes
    workload     a Workload of each reading

All of it is linear in the text, and nothing recurses.
"""
