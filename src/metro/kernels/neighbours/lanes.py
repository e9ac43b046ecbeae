"""Squared gaps in float64, eight lanes at a time, in the order of `gaps`.

Numba does not vectorise eight sums side by side, so the vector code is spelled out.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_LANES = 8


@intrinsic
def exact_squared_gap(typing_context, a, i, b, j):
    """Return ‖a_i − b_j‖², each lane summed alone, then the eight lanes pairwise.

    Rows are contiguous, of a length that is a multiple of eight.
    """

    def generate(context, builder, signature, args):
        kinds = signature.args
        doubles = ir.VectorType(ir.DoubleType(), _LANES)
        first, width = _row(context, builder, kinds[0], args[0], kinds[1], args[1])
        second, _ = _row(context, builder, kinds[2], args[2], kinds[3], args[3])
        sums = cgutils.alloca_once_value(builder, ir.Constant(doubles, [0.0] * _LANES))
        steps = builder.udiv(width, ir.Constant(width.type, _LANES))
        with cgutils.for_range(builder, steps) as loop:
            step = builder.fsub(
                _load(builder, first, loop.index, doubles),
                _load(builder, second, loop.index, doubles),
            )
            # Not fused: a fused multiply-add rounds once less than `gaps` does.
            total = builder.fadd(builder.load(sums), builder.fmul(step, step))
            builder.store(total, sums)
        return _pairwise(builder, builder.load(sums))

    return types.float64(a, i, b, j), generate


def _row(context, builder, kind, array, index_kind, index):
    """Return a pointer to a row, as vectors, and the row's length."""
    struct = make_array(kind)(context, builder, array)
    number = context.cast(builder, index, index_kind, types.intp)
    stride, width = (
        builder.extract_value(struct.strides, 0),
        builder.extract_value(struct.shape, 1),
    )
    byte = ir.IntType(8).as_pointer()
    place = builder.gep(
        builder.bitcast(struct.data, byte), [builder.mul(number, stride)]
    )
    vector = ir.VectorType(context.get_data_type(kind.dtype), _LANES)
    return builder.bitcast(place, vector.as_pointer()), width


def _load(builder, row, step, doubles):
    """Return the eight numbers at a step of a row, as float64."""
    place = builder.gep(row, [step])
    scalar = place.type.pointee.element
    # Rows are aligned to their numbers; LLVM would assume that of whole vectors.
    values = builder.load(place, align=4 if isinstance(scalar, ir.FloatType) else 8)
    return values if values.type == doubles else builder.fpext(values, doubles)


def _pairwise(builder, sums):
    """Return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))."""
    lane = ir.IntType(32)
    parts = [builder.extract_element(sums, lane(k)) for k in range(_LANES)]
    while len(parts) > 1:
        parts = [
            builder.fadd(left, right)
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]
