"""The backward search, compiled: a ring of buckets instead of a heap.

A bucket holds the frames whose J lies in [i, i + 1). Every edge costs at least one
frame, so a bucket is final when its turn comes; every edge costs at most H, so H + 2
buckets, used in turn, are enough. What a bucket holds is known before it is worked
through, which a heap never knows: memory is asked for ahead of its use.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from metro.kernels.compiled import compiled
from metro.kernels.search import SLACK

BLOCK_BITS = 10
BLOCK = 1 << BLOCK_BITS
"""Frames in a block; a bucket is a chain of blocks, all from one pool."""

FAR, NEAR, NEXT = 16, 10, 4
"""How many frames ahead gates, then bridges, then other ends are asked for."""

FREE, FRESH, USED = 0, 1, 2
"""Counters of a pool: last block given back, first never used, blocks in use."""

u64 = np.uint64  # an unsigned index is not checked for counting from the end
i64 = np.int64


@intrinsic
def prefetch(typing_context, array, index):
    """Ask for the cache line of an element; the element need not exist."""

    def generate(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(call, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@compiled(cached=True)
def settle(edges, ring, frames, until, prices, cost_to_go, successor):
    """Settle all frames that lead to ``frames``; return those left, and their least J.

    Works on ``cost_to_go`` and ``successor`` in place. Nothing is below -inf: a frame
    that costs that much is never entered.

    Decision: D11.

    Args:
        edges: (gates, bridge_frame, bridge_cost). A gate is twice the offset of a
            frame's bridges, plus one if the frame before is of the same episode.
        ring: Buckets, a power of two, at least H + 2.
        frames: Where the search starts, each once, with their costs and successors
            already in place; the costs differ by at most H + 1.
        until: Stop after the bucket with which it is certain which of these frames
            has the least price + J; empty: never.
        prices: What is added to their J.
        cost_to_go: ``[N]`` ``inf`` where nothing is known yet.
        successor: ``[N]``.
    """
    # A frame is filed once a bucket and settled once, so an edge files one at most.
    filed = cost_to_go.shape[0] + edges[1].shape[0] + frames.shape[0]
    blocks = (filed >> BLOCK_BITS) + min(ring, filed) + 1
    pool = np.empty(blocks << BLOCK_BITS, np.int32)  # pages never used stay virtual
    links = np.empty(blocks, np.int64)
    tails = np.zeros(ring, np.int64)
    counts = np.array([-1, 0, 0])
    number = _file_all(frames, cost_to_go, pool, links, tails, counts)
    while counts[USED] > 0:
        slot = number & (ring - 1)
        tail = tails[slot]
        tails[slot] = 0
        while tail > 0:
            _relax_block(
                edges, number, tail, cost_to_go, successor, pool, links, tails, counts
            )
            tail = give_back(links, counts, tail)
        number += 1
        if until.shape[0] > 0 and _is_certain(until, prices, cost_to_go, number):
            break
    return _still_filed(number, cost_to_go, pool, links, tails)


@compiled()
def _relax_block(
    edges, number, tail, cost_to_go, successor, pool, links, tails, counts
):
    """Offer every frame of a bucket's last block to those that lead to it."""
    # Asking ahead and filing are written out here, and once more in `narrow`, on
    # purpose: a function that takes arrays counts references at every edge. Shared
    # helpers, even with inline="always", made the whole search twice as slow and the
    # narrow one a third slower (400,000 frames, 2.4 million bridges).
    gates, bridge_frame, bridge_cost = edges
    mask = u64(tails.shape[0] - 1)
    for i in range((tail - 1) >> BLOCK_BITS << BLOCK_BITS, tail):
        if i + FAR < tail:
            ahead = u64(pool[u64(i + FAR)])
            prefetch(gates, ahead)
            prefetch(cost_to_go, ahead)
        if i + NEAR < tail:
            start = i64(gates[u64(pool[u64(i + NEAR)])]) >> 1
            prefetch(bridge_frame, start)
            prefetch(bridge_cost, start)
            # Eight float64 prices may lie on two cache lines.
            prefetch(bridge_cost, start + 7)
        if i + NEXT < tail:
            ahead = i64(pool[u64(i + NEXT)])
            stop = i64(gates[u64(ahead + 1)]) >> 1
            for e in range(i64(gates[u64(ahead)]) >> 1, stop):
                prefetch(cost_to_go, i64(bridge_frame[u64(e)]))

        v = i64(pool[u64(i)])
        cost = cost_to_go[u64(v)]
        if cost < number:
            continue  # got cheaper after it was filed here, and is settled
        gate = i64(gates[u64(v)])
        start, stop = gate >> 1, i64(gates[u64(v + 1)]) >> 1
        for e in range(start - (gate & 1), stop):  # first the temporal edge
            if e < start:
                u = u64(v - 1)
                offer = cost + 1.0
            else:
                u = u64(bridge_frame[u64(e)])
                offer = cost + bridge_cost[u64(e)]
            known = cost_to_go[u]
            if offer < known:
                cost_to_go[u] = offer
                successor[u] = v
                bucket = i64(offer)
                if known >= bucket + 1:  # else it is in this bucket already
                    place = tails[u64(bucket) & mask]
                    if place & (BLOCK - 1) == 0:
                        place = take_block(links, counts, place)
                    pool[u64(place)] = u
                    tails[u64(bucket) & mask] = place + 1
            elif offer == known and v < successor[u]:
                # Ties to the lower frame: routes do not depend on the order of work.
                successor[u] = v


@compiled()
def _is_certain(until, prices, cost_to_go, number):
    """Return what `metro.core.shortest_paths.is_certain` returns without bounds."""
    best, least = np.inf, np.inf
    for i in range(until.shape[0]):
        cost = cost_to_go[until[i]]
        if cost < number:
            best = min(best, prices[i] + cost)
        else:
            least = min(least, prices[i] + number)
    return best + SLACK < least or least == np.inf


@compiled()
def _file_all(frames, cost_to_go, pool, links, tails, counts):
    """File the first frames; return the number of the first bucket."""
    first = i64(0)
    for i in range(frames.shape[0]):
        bucket = i64(cost_to_go[frames[i]])
        first = bucket if i == 0 else min(first, bucket)
        file_frame(frames[i], bucket, pool, links, tails, counts)
    return first


@compiled()
def file_frame(frame, number, pool, links, tails, counts):
    """Put a frame at the end of bucket ``number`` of a ring."""
    slot = number & (tails.shape[0] - 1)
    place = tails[slot]
    if place & (BLOCK - 1) == 0:
        place = take_block(links, counts, place)
    pool[place] = frame
    tails[slot] = place + 1


@compiled()
def take_block(links, counts, tail):
    """Return where a new block starts, linked to the one that ends at ``tail``.

    An empty bucket has tail 0, and so its first block is linked to -1.
    """
    block = counts[FREE]
    if block >= 0:
        counts[FREE] = links[block]
    else:
        block = counts[FRESH]
        counts[FRESH] += 1
    counts[USED] += 1
    links[block] = (tail >> BLOCK_BITS) - 1
    return block << BLOCK_BITS


@compiled()
def give_back(links, counts, tail):
    """Free the last block of a bucket; return where the one before it ends, or 0."""
    block = (tail - 1) >> BLOCK_BITS
    before = links[block]
    links[block] = counts[FREE]
    counts[FREE] = block
    counts[USED] -= 1
    return (before + 1) << BLOCK_BITS


@compiled()
def _still_filed(number, cost_to_go, pool, links, tails):
    """Return all frames in buckets from ``number`` on, each once, and their least J."""
    left = np.empty(0, np.int64)
    least = np.inf
    for counting in (True, False):
        found = 0
        for bucket in range(number, number + tails.shape[0]):
            tail = tails[bucket & (tails.shape[0] - 1)]
            while tail > 0:
                block = (tail - 1) >> BLOCK_BITS
                for i in range(block << BLOCK_BITS, tail):
                    if cost_to_go[pool[i]] >= bucket:  # else filed lower, too
                        if not counting:
                            left[found] = pool[i]
                            least = min(least, cost_to_go[pool[i]])
                        found += 1
                tail = (links[block] + 1) << BLOCK_BITS
        if counting:
            left = np.empty(found, np.int64)
    return left, least
