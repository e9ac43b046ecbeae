"""The backward search with bounds, compiled: frames on the way come first.

A bucket holds the frames whose J + bound lies in [i, i + 1). No edge leads to a lower
bucket, but many lead to the same one: along a good route J grows by what the bound
falls. So a bucket is worked through by J, in shelves of one frame each. An edge costs
at least one frame and so leads to a higher shelf: every frame is settled once. Buckets
and shelves are rings; what is too far ahead is filed in the last one, and again when
its turn comes. All share one pool of blocks, as in `metro.kernels.search.buckets`.
"""

import numpy as np

from metro.kernels.compiled import compiled
from metro.kernels.search import SLACK
from metro.kernels.search.buckets import (
    BLOCK,
    BLOCK_BITS,
    FAR,
    NEAR,
    NEXT,
    USED,
    file_frame,
    give_back,
    i64,
    prefetch,
    take_block,
    u64,
)

_SHELVES = 1 << 7


@compiled(cached=True)
def settle_narrow(edges, ring, frames, until, prices, bounds, cost_to_go, successor):
    """Settle frames by J + bound until it is certain where to enter.

    Return those left unsettled and the least J + bound among them.

    Args:
        edges: As `metro.kernels.search.buckets.settle` takes them, like the others.
        ring: Buckets, a power of two.
        frames: Where the search starts.
        until: Frames; stop when it is certain which has the least price + J.
        prices: What is added to their J.
        bounds: (costs, reach, share) of `metro.core.shortest_paths.Bounds`.
        cost_to_go: ``[N]``.
        successor: ``[N]``.
    """
    # Every edge files one frame at most; moving one on files it no second time.
    filed = cost_to_go.shape[0] + edges[1].shape[0] + frames.shape[0]
    blocks = (filed >> BLOCK_BITS) + ring + _SHELVES + 1
    pool = np.empty(blocks << BLOCK_BITS, np.int32)  # pages never used stay virtual
    links = np.empty(blocks, np.int64)
    tails = np.zeros(ring, np.int64)
    shelves = np.zeros(_SHELVES, np.int64)
    counts = np.array([-1, 0, 0])
    lower = np.empty(cost_to_go.shape[0])  # of what was reached, as it is reached
    number = i64(0)
    for i in range(frames.shape[0]):
        if i + FAR < frames.shape[0]:
            prefetch(bounds[0], frames[i + FAR] * bounds[0].shape[1])
            prefetch(lower, frames[i + FAR])
            prefetch(cost_to_go, frames[i + FAR])
        lower[frames[i]] = _bound(bounds, frames[i])
        key = i64(cost_to_go[frames[i]] + lower[frames[i]])
        number = key if i == 0 else min(number, key)
    for i in range(frames.shape[0]):
        key = i64(cost_to_go[frames[i]] + lower[frames[i]])
        file_frame(frames[i], min(key, number + ring - 1), pool, links, tails, counts)
    while counts[USED] > 0:
        if until.shape[0] > 0 and _is_certain(
            until, prices, bounds, cost_to_go, number
        ):
            break
        shelf = _fill_shelves(
            lower, number, cost_to_go, pool, links, tails, shelves, counts
        )
        while shelf >= 0:
            shelf = _work_through(
                edges, bounds, lower, number, shelf, cost_to_go, successor,
                pool, links, tails, shelves, counts,
            )  # fmt: skip
        number += 1
    return _still_filed(number, lower, cost_to_go, pool, links, tails, counts)


@compiled()
def _bound(bounds, frame):
    """Return what `metro.core.shortest_paths.Bounds.of` returns, for one frame."""
    costs, reach, share = bounds
    short = 0.0
    for i in range(reach.shape[0]):
        gap = reach[i] - np.float64(costs[frame, i])
        if gap > short:
            short = gap
    return share * short


@compiled()
def _is_certain(until, prices, bounds, cost_to_go, number):
    """Return what `metro.core.shortest_paths.is_certain` returns."""
    best, least = np.inf, np.inf
    for i in range(until.shape[0]):
        cost, lower = cost_to_go[until[i]], _bound(bounds, until[i])
        if cost + lower < number:
            best = min(best, prices[i] + cost)
        else:
            least = min(least, prices[i] + (number - lower))
    return best + SLACK < least or least == np.inf


@compiled()
def _fill_shelves(lower, number, cost_to_go, pool, links, tails, shelves, counts):
    """Move a bucket's frames to shelves by J; return the lowest shelf, -1: none."""
    ring = tails.shape[0]
    tail = tails[number & (ring - 1)]
    tails[number & (ring - 1)] = 0
    lowest = i64(-1)
    first = tail
    while tail > 0:  # shelves are a ring: its beginning must be known first
        block = (tail - 1) >> BLOCK_BITS
        for i in range(block << BLOCK_BITS, tail):
            if i + FAR < tail:
                prefetch(cost_to_go, i64(pool[i + FAR]))
                prefetch(lower, i64(pool[i + FAR]))
            cost = cost_to_go[pool[i]]
            key = cost + lower[pool[i]]
            if number <= key < number + 1 and (lowest < 0 or cost < lowest):
                lowest = i64(cost)
        tail = (links[block] + 1) << BLOCK_BITS
    tail = first
    while tail > 0:
        for i in range((tail - 1) >> BLOCK_BITS << BLOCK_BITS, tail):
            v = pool[i]
            cost = cost_to_go[v]
            key = cost + lower[v]
            if key >= number + 1:  # too far ahead when it was filed
                file_frame(
                    v, min(i64(key), number + ring - 1), pool, links, tails, counts
                )
            elif key >= number:
                shelf = min(i64(cost), lowest + _SHELVES - 1)
                file_frame(v, shelf, pool, links, shelves, counts)
        tail = give_back(links, counts, tail)
    return lowest


@compiled()
def _work_through(
    edges, bounds, lower, number, shelf, cost_to_go, successor, pool, links, tails,
    shelves, counts,
):  # fmt: skip
    """Settle the frames of a shelf; return the next one that holds some, -1: none."""
    slot = shelf & (_SHELVES - 1)
    tail = shelves[slot]
    shelves[slot] = 0
    while tail > 0:
        _relax_block(
            edges, bounds, lower, number, shelf, tail, cost_to_go, successor, pool,
            links, tails, shelves, counts,
        )  # fmt: skip
        tail = give_back(links, counts, tail)
    for ahead in range(1, _SHELVES):
        if shelves[(shelf + ahead) & (_SHELVES - 1)] > 0:
            return shelf + ahead
    return i64(-1)


@compiled()
def _relax_block(
    edges, bounds, lower, number, shelf, tail, cost_to_go, successor, pool, links,
    tails, shelves, counts,
):  # fmt: skip
    """Offer every frame of a shelf's last block to those that lead to it."""
    # Written out in one loop like its twin in `buckets`, which says why.
    gates, bridge_frame, bridge_cost = edges
    costs, reach, share = bounds
    width = reach.shape[0]
    buckets, floors = u64(tails.shape[0] - 1), u64(_SHELVES - 1)
    last, top = number + tails.shape[0] - 1, shelf + _SHELVES - 1
    for i in range((tail - 1) >> BLOCK_BITS << BLOCK_BITS, tail):
        if i + FAR < tail:
            ahead = u64(pool[u64(i + FAR)])
            prefetch(gates, ahead)
            prefetch(cost_to_go, ahead)
        if i + NEAR < tail:
            start = i64(gates[u64(pool[u64(i + NEAR)])]) >> 1
            prefetch(bridge_frame, start)
            prefetch(bridge_cost, start)
            prefetch(bridge_cost, start + 7)
        if i + NEXT < tail:
            ahead = i64(pool[u64(i + NEXT)])
            stop = i64(gates[u64(ahead + 1)]) >> 1
            # The frame before leads here too, by its temporal edge.
            prefetch(costs, (ahead - 1) * width)
            for e in range(i64(gates[u64(ahead)]) >> 1, stop):
                prefetch(cost_to_go, i64(bridge_frame[u64(e)]))
                prefetch(costs, i64(bridge_frame[u64(e)]) * width)
                prefetch(lower, i64(bridge_frame[u64(e)]))

        v = i64(pool[u64(i)])
        cost = cost_to_go[u64(v)]
        if cost < shelf:
            continue  # got cheaper after it was filed here, and is settled
        if cost >= shelf + 1:  # too far ahead when it was filed
            floor = u64(min(i64(cost), top)) & floors
            place = shelves[floor]
            if place & (BLOCK - 1) == 0:
                place = take_block(links, counts, place)
            pool[u64(place)] = v
            shelves[floor] = place + 1
            continue
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
                bound = lower[u]
                if known == np.inf:
                    bound = 0.0
                    for j in range(width):
                        gap = reach[j] - np.float64(costs[u, j])
                        if gap > bound:
                            bound = gap
                    bound = share * bound
                    lower[u] = bound
                bucket = i64(offer + bound)
                if bucket > number:
                    bucket = min(bucket, last)
                    if known + bound >= bucket + 1:  # else it is there already
                        place = tails[u64(bucket) & buckets]
                        if place & (BLOCK - 1) == 0:
                            place = take_block(links, counts, place)
                        pool[u64(place)] = u
                        tails[u64(bucket) & buckets] = place + 1
                    continue
                floor = min(i64(offer), top)
                if known >= floor + 1 or known + bound >= number + 1:
                    place = shelves[u64(floor) & floors]
                    if place & (BLOCK - 1) == 0:
                        place = take_block(links, counts, place)
                    pool[u64(place)] = u
                    shelves[u64(floor) & floors] = place + 1
            elif offer == known and v < successor[u]:
                successor[u] = v


@compiled()
def _still_filed(number, lower, cost_to_go, pool, links, tails, counts):
    """Return all frames in buckets that are not settled, and their least J + bound.

    Some may come twice.
    """
    left = np.empty(counts[USED] << BLOCK_BITS, np.int64)
    least, found = np.inf, 0
    for slot in range(tails.shape[0]):
        tail = tails[slot]
        while tail > 0:
            block = (tail - 1) >> BLOCK_BITS
            for i in range(block << BLOCK_BITS, tail):
                if i + FAR < tail:
                    prefetch(cost_to_go, i64(pool[i + FAR]))
                    prefetch(lower, i64(pool[i + FAR]))
                key = cost_to_go[pool[i]] + lower[pool[i]]
                if key >= number:
                    left[found] = pool[i]
                    least = min(least, key)
                    found += 1
            tail = (links[block] + 1) << BLOCK_BITS
    return left[:found], least
