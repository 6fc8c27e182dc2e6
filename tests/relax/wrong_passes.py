"""Passes with one planted fault each, on which `wb.try_pass` is tried. `swaps_operands` uses no other function: its source is the script's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

Pass = Any
WRONG: dict[str, tuple[Pass, str]] = {}
"name -> the pass, and the law that it breaks"


def breaks(law: str) -> Callable[[Pass], Pass]:
    """Plant a pass that breaks a law."""

    def keep(made: Pass) -> Pass:
        name = made.info.name if isinstance(made, tvm.transform.Pass) else made.__name__
        WRONG[name] = made, law
        return made

    return keep


def _mutated(mutator_of, mod):
    """Return the module with each Relax function visited."""
    mutator = mutator_of(mod)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(name, mutator.visit_expr(function))
    return mutator.builder_.get()


@breaks("changes its input")
@tvm.transform.module_pass(opt_level=0, name="writes_into_its_input")
def writes_into_its_input(mod, _context):
    """Write into the module that it was given: a Pass object gets the caller's own."""
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            mod.update_func(name, function.with_attr("seen", 1))
    return mod


@breaks("not well-formed")
def forgets_a_user(mod):
    """Leave out a binding, and forget that other bindings read its variable."""
    made = mod.clone()
    for name, function in mod.functions.items():
        if not isinstance(function, relax.Function):
            continue
        blocks = []
        for block in function.body.blocks:
            kept = [
                each
                for each in block.bindings
                if getattr(getattr(each.value, "op", None), "name", "")
                not in ("relax.exp", "relax.tanh", "relax.nn.relu")
            ]
            blocks.append(type(block)(kept))
        body = relax.SeqExpr(blocks, function.body.body)
        made[name] = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
    return made


@breaks("other outputs")
def swaps_operands(mod):
    """Compute b - a in the place of a - b."""

    @relax.expr_functor.mutator
    class Swap(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            same = getattr(call.op, "name", "") == "relax.subtract" and str(call.args[0].ty) == str(call.args[1].ty)
            return relax.op.subtract(call.args[1], call.args[0]) if same else call

    mutator = Swap(mod)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(name, mutator.visit_expr(function))
    return mutator.builder_.get()


def swaps_if_marked(mod):
    """Swap the operands of a module that another pass has marked."""
    return swaps_operands(mod) if "marked" in (mod["main"].attrs or {}) else mod


@breaks("other outputs")
def keeps_the_axis_past_a_transpose(mod):
    """Reduce before a transpose along the axis that was meant after it, where the types cannot tell."""

    @relax.expr_functor.mutator
    class Move(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if getattr(call.op, "name", "") != "relax.nn.softmax":
                return call
            source = self.lookup_binding(call.args[0]) if isinstance(call.args[0], relax.Var) else call.args[0]
            if getattr(getattr(source, "op", None), "name", "") != "relax.permute_dims":
                return call
            return relax.op.permute_dims(relax.op.nn.softmax(source.args[0], call.attrs.axis), source.attrs.axes)

    return _mutated(Move, mod)


@breaks("other outputs")
def folds_in_a_narrow_type(mod):
    """Fold a float constant as if it were an integer."""

    @relax.expr_functor.mutator
    class Fold(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if getattr(call.op, "name", "") not in ("relax.add", "relax.multiply"):
                return call
            arguments = [
                relax.const(each.value.numpy().astype("int8").astype(each.value.dtype), str(each.value.dtype))
                if isinstance(each, tvm.ir.GenericConst) and "float" in str(each.ty.dtype)
                else each
                for each in call.args
            ]
            return relax.Call(call.op, arguments, call.attrs)

    return _mutated(Fold, mod)


@breaks("not well-formed")
def binds_a_variable_twice(mod):
    """Bind a variable a second time, behind its first binding."""
    made = mod.clone()
    for name, function in mod.functions.items():
        if not isinstance(function, relax.Function):
            continue
        blocks = []
        for block in function.body.blocks:
            bindings = []
            for each in block.bindings:
                twice = getattr(getattr(each.value, "op", None), "name", "") == "relax.add"
                bindings += [each, each] if twice else [each]
            blocks.append(type(block)(bindings))
        body = relax.SeqExpr(blocks, function.body.body)
        made[name] = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
    return made


@breaks("other types")
def loses_a_shape(mod):
    """Cast to a type whose shape is not known."""

    @relax.expr_functor.mutator
    class Lose(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if getattr(call.op, "name", "") != "relax.reshape":
                return call
            value = self.builder_.emit(call)
            return self.builder_.match_cast(value, relax.TensorType(dtype=value.ty.dtype, ndim=value.ty.ndim))

    return _mutated(Lose, mod)


@breaks("not idempotent")
def fires_forever(mod):
    """Negate the operand of each negation twice more, each time it runs."""

    @relax.expr_functor.mutator
    class More(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if getattr(call.op, "name", "") != "relax.negative":
                return call
            return relax.op.negative(relax.op.negative(relax.op.negative(call.args[0])))

    return _mutated(More, mod)


@breaks("slow to grow")
def compares_all_pairs(mod):
    """Read equal calls once, and look for them by comparing each binding with each other."""
    import tvm_ffi

    for function in mod.functions.values():
        if isinstance(function, relax.Function):
            values = [each.value for block in function.body.blocks for each in block.bindings]
            for one in values:
                for other in values:
                    tvm_ffi.structural_equal(one, other)
    return relax.transform.EliminateCommonSubexpr()(mod)


@breaks("not idempotent")
def turns_operands_around(mod):
    """Write b + a in the place of a + b, which is right, and never done."""

    @relax.expr_functor.mutator
    class Turn(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return relax.op.add(call.args[1], call.args[0]) if getattr(call.op, "name", "") == "relax.add" else call

    return _mutated(Turn, mod)


@breaks("other outputs")
def takes_symbols_for_one(mod):
    """Compute a mean as a sum with a factor, and take a symbolic dimension for 1."""
    from tvm import tirx

    @relax.expr_functor.mutator
    class Mean(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if getattr(call.op, "name", "") not in ("relax.mean", "relax.nn.softmax"):
                return call
            kind = call.args[0].ty
            sizes = [] if kind.shape is None else list(kind.shape.values)
            if all(isinstance(each, tirx.IntImm) for each in sizes):
                return call
            return relax.op.multiply(call, relax.const(0.5, kind.dtype))

    return _mutated(Mean, mod)


@breaks("other outputs")
def forgets_a_shared_operand(mod):
    """Simplify x * x to x, which is right for nothing."""

    @relax.expr_functor.mutator
    class Same(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            is_square = getattr(call.op, "name", "") == "relax.multiply" and call.args[0].same_as(call.args[1])
            return call.args[0] if is_square else call

    return _mutated(Same, mod)
