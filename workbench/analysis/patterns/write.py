"""Patterns written as Python code for TVM."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.analysis.patterns.pattern import Pattern, PatternNode

_TENSOR = re.compile(r"Tensor\[\(([\d, ]*)\), (\w+)\]")


def _type_code(text: str) -> str:
    """Return the Python code of a tensor type of known shape; otherwise the type's text."""
    found = _TENSOR.fullmatch(text)
    return f"TensorType(({found[1]}), {found[2]!r})" if found else repr(text)


def code(pattern: Pattern) -> str:
    """Return the Python code of the pattern; sub-patterns in several places get names."""
    lines: list[str] = []
    said: dict[int, str] = {}
    for node in pattern.nodes:
        text = _said(node, said, pattern)
        if node.id in pattern.shared and node.id != pattern.root:
            lines.append(f"x{node.id} = {text}")
            text = f"x{node.id}"
        said[node.id] = text
    return "\n".join([*lines, said[pattern.root]])


def _said(node: PatternNode, said: Mapping[int, str], pattern: Pattern) -> str:
    inner = [said[child] for child in node.children]
    f = node.fields
    if node.kind == "call":
        callee = pattern.nodes[node.children[0]]
        head = inner[0] if callee.kind not in ("alt", "and") or inner[0].isidentifier() else f"({inner[0]})"
        if f.get("rest"):
            return f"{head}({', '.join(inner[1:])}, varg_default_wildcard=True)"
        return f"{head}({'None' if f['any'] else ', '.join(inner[1:])})"
    if node.kind in ("attr", "type", "shape", "dtype"):
        value = f["attrs"] if node.kind == "attr" else f[node.kind]
        what = _type_code(value) if node.kind == "type" else repr(value)
        head = f"({inner[0]})" if pattern.nodes[node.children[0]].kind in ("alt", "and", "not") else inner[0]
        return f"{head}.has_{node.kind}({what})"
    listed = {
        "wildcard": "wildcard()",
        "constant": "is_constant()",
        "op": f"is_op({f.get('name', '')!r})",
        "var": f"is_var({f['name']!r})" if f.get("name") else "is_var()",
        "expr": f"is_expr({f.get('text')})",
        "tuple": f"is_tuple({'None' if f.get('any') else '[' + ', '.join(inner) + ']'})",
        "if": f"is_if({', '.join(inner)})",
        "let": f"is_let({', '.join(inner)})",
        "dominates": f"dominates({', '.join(inner)})",
        "and": " & ".join(f"({each})" for each in inner),
        "not": f"~({''.join(inner)})",
        "any_order": f"is_tuple([{', '.join(inner)}], unordered=True)",
        "global": f"is_gv({f.get('name', '')!r})",
        "extern": f"ExternFuncPattern({f.get('name', '')!r})",
        "dataflow_var": f"is_dfv({f.get('name', '')!r})",
        "shape_value": f"is_shape({f.get('shape')})",
        "alt": " | ".join(f"({each})" if "|" in each else each for each in inner),
    }
    if node.kind == "used_by":
        at = f", {f['index']}" if f["index"] >= 0 else ""
        return f"({inner[0]}).{'only_used_by' if f['only'] else 'used_by'}({inner[1]}{at})"
    if node.kind == "get_item":
        return f"is_tuple_get_item({inner[0]}{', ' + str(f['index']) if f['index'] >= 0 else ''})"
    if node.kind == "function":
        params = "None" if f["any"] else f"[{', '.join(inner[:-1])}]"
        return f"FunctionPattern({params}, {inner[-1]})"
    return listed[node.kind]
