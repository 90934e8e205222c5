"""Products of matrices, by lists of rows or in blocks, and what is large in a row: whole lanes of numbers at a time.

A loop that Numba makes of its own has to ask, whenever it begins, whether arrays overlap and what is left over beside
whole lanes, and writes its sums to memory after every few rows. Here a strip of one row's sums stays in registers until
all that is listed has been added. Strips of all rows come one after the other, so that the columns that they read stay
in the nearest cache. That takes half the time, and a sum is taken in the order of its list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def has_wide_registers() -> bool:
    """Return whether this processor has 32 registers of 16 numbers each."""
    try:
        return bool(get_host_cpu_features().get("avx512f"))
    except RuntimeError:  # which is how older versions say that they do not know
        return False


LANES = 32
"""Columns of matrices come in whole lanes, so that no loop along a row has a rest."""
AT_ONCE = 4
"""Rows that are added to sums of their own: so many products are under way."""
ROWS = 8 if has_wide_registers() else 2
"""Rows of a block of a product: their sums, LANES each, fill half of the registers."""
WORD, NUMBER, INDEX = ir.IntType(LANES), ir.FloatType(), ir.IntType(64)
STRIP, ORDER = ir.VectorType(NUMBER, LANES), ir.VectorType(ir.IntType(32), LANES)


def by_hand(write: Callable[..., Any]) -> Any:
    """Return what compiled loops call and ``write`` writes the machine-independent code of."""
    return intrinsic(write)


@by_hand
def write_listed_rows(
    typing: Any, right: Any, first: Any, places: Any, entries: Any, count: Any, into: Any
) -> Any:
    """Write the sum of the listed rows of ``right``, each times its entry, into LANES columns from ``first`` on.

    Numbers are of single precision, and ``right`` is as wide as whole lanes. Lists are as
    :func:`latentsimplex.similarity._walk_loops.list_significant` makes them: filled up so that rows are added AT_ONCE.
    """
    signature = types.void(right, types.int64, places, entries, types.int64, into)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, rows, factors, target = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 3, 5)
        )
        first, count = arguments[1], arguments[4]
        width = cgutils.unpack_tuple(builder, matrix.shape)[1]

        def multiply(at: Any) -> Iterator[tuple[Any, Any]]:
            for k in range(AT_ONCE):
                here = builder.add(at, ir.Constant(INDEX, k))
                row = builder.zext(builder.load(builder.gep(rows.data, [here])), INDEX)
                start = builder.gep(matrix.data, [builder.add(builder.mul(row, width), first)])
                yield builder.load(builder.gep(factors.data, [here])), load_strip(builder, start)

        sums = add_products(builder, count, AT_ONCE, AT_ONCE, multiply)
        while len(sums) > 1:
            sums = [builder.fadd(one, other) for one, other in zip(sums[::2], sums[1::2], strict=True)]
        place = builder.bitcast(builder.gep(target.data, [first]), STRIP.as_pointer())
        builder.store(sums[0], place, align=4)
        return context.get_dummy_value()

    return signature, generate


@by_hand
def write_block(typing: Any, left: Any, top: Any, right: Any, first: Any, count: Any, into: Any) -> Any:
    """Write ROWS rows of ``left`` from ``top`` on times LANES columns of ``right`` from ``first`` on into a matrix.

    Numbers are of single precision, products are added up in order over the first ``count`` rows of ``right``, and all
    three matrices are as wide, and as high, as whole lanes.
    """
    signature = types.void(left, types.int64, right, types.int64, types.int64, into)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factors, matrix, target = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 5)
        )
        top, first, count = arguments[1], arguments[3], arguments[4]
        width = cgutils.unpack_tuple(builder, matrix.shape)[1]
        rows = [builder.mul(builder.add(top, ir.Constant(INDEX, i)), width) for i in range(ROWS)]

        def multiply(at: Any) -> Iterator[tuple[Any, Any]]:
            start = builder.gep(matrix.data, [builder.add(builder.mul(at, width), first)])
            strip = load_strip(builder, start)
            for row in rows:
                yield builder.load(builder.gep(factors.data, [builder.add(row, at)])), strip

        for row, total in zip(rows, add_products(builder, count, 1, ROWS, multiply), strict=True):
            place = builder.gep(target.data, [builder.add(row, first)])
            builder.store(total, builder.bitcast(place, STRIP.as_pointer()), align=4)
        return context.get_dummy_value()

    return signature, generate


@by_hand
def mark_larger(typing: Any, row: Any, first: Any, least: Any) -> Any:
    """Return a word with a bit for each of LANES numbers of a row from ``first`` on that is larger than ``least``."""
    signature = types.uint32(row, types.int64, types.float32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = context.make_array(signature.args[0])(context, builder, arguments[0])
        strip = load_strip(builder, builder.gep(numbers.data, [arguments[1]]))
        return builder.bitcast(builder.fcmp_ordered(">", strip, spread(builder, arguments[2])), WORD)

    return signature, generate


@by_hand
def count_bits(typing: Any, word: Any) -> Any:
    """Return how many bits of a word are set."""
    signature = types.int64(types.uint32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.ctpop(arguments[0]), INDEX)

    return signature, generate


@by_hand
def find_first_bit(typing: Any, word: Any) -> Any:
    """Return the place of the first bit of a word that is set; there is one."""
    signature = types.int64(types.uint32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1)), INDEX)

    return signature, generate


def add_products(
    builder: Any, count: Any, step: int, n_sums: int, multiply: Callable[[Any], Iterable[tuple[Any, Any]]]
) -> list[Any]:
    """Return strips that stay in registers while a loop from 0 to ``count`` adds a product to each.

    ``multiply`` gives the number and the strip of each product at a place of the loop.
    """
    before = builder.block
    add, added = builder.append_basic_block("add"), builder.append_basic_block("added")
    builder.branch(add)
    builder.position_at_end(add)
    at, sums, after = builder.phi(INDEX), [builder.phi(STRIP) for _ in range(n_sums)], []
    at.add_incoming(ir.Constant(INDEX, 0), before)
    for total, (number, strip) in zip(sums, multiply(at), strict=True):
        total.add_incoming(ir.Constant(STRIP, None), before)
        product = builder.fmul(spread(builder, number), strip, flags=["contract"])
        after.append(builder.fadd(product, total, flags=["contract"]))
    following = builder.add(at, ir.Constant(INDEX, step))
    at.add_incoming(following, add)
    for total, more in zip(sums, after, strict=True):
        total.add_incoming(more, add)
    builder.cbranch(builder.icmp_signed("<", following, count), add, added)
    builder.position_at_end(added)
    return after


def load_strip(builder: Any, start: Any) -> Any:
    """Return LANES numbers of an array from a place on."""
    return builder.load(builder.bitcast(start, STRIP.as_pointer()), align=4)


def spread(builder: Any, number: Any) -> Any:
    """Return a number in all lanes."""
    nothing = ir.Constant(STRIP, ir.Undefined)
    alone = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(alone, nothing, ir.Constant(ORDER, [0] * LANES))
