"""The slow, obvious versions that every fast path must equal: loops and a heap.

A corpus is a list of episodes, each a list of latents, each a list of floats. Frames
are numbered through all episodes. Nothing here imports metro.
"""

import heapq
import math
from itertools import pairwise

GOAL, NOWHERE, OBSERVED = -1, -2, -3


class Corpus:
    """Episodes as nested lists, with frame numbers."""

    def __init__(self, episodes):
        self.episodes = [[[float(x) for x in z] for z in ep] for ep in episodes]
        self.z = [z for episode in self.episodes for z in episode]
        self.episode = [m for m, ep in enumerate(self.episodes) for _ in ep]
        self.frames = range(len(self.z))


def gap(a, b):
    """Return ‖a − b‖₂."""
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def nearest(corpus, query, count, excluded):
    """Return [(gap, frame)] of the nearest frames outside an episode."""
    found = [
        (gap(query, corpus.z[v]), v)
        for v in corpus.frames
        if corpus.episode[v] != excluded
    ]
    return sorted(found)[:count]


def quantile(values, share):
    """Return NumPy's linear quantile, by its definition."""
    values = sorted(values)
    place = share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def pricing_gaps(corpus, budget, share):
    """Return Λ(1) ... Λ(H): the quantile at every separation, running maximum."""
    curve = []
    for d in range(1, budget + 1):
        gaps = [
            gap(episode[t + d], episode[t])
            for episode in corpus.episodes
            for t in range(len(episode) - d)
        ]
        curve.append(max([quantile(gaps, share), *curve[-1:]]))
    return curve


def price(curve, delta):
    """Return κ(δ) by scanning the curve for the last knot at or below δ."""
    budget = len(curve)
    for d in range(budget, 0, -1):
        if curve[d - 1] <= delta:
            if d == budget:
                return float(budget)
            return d + (delta - curve[d - 1]) / (curve[d] - curve[d - 1])
    return 1.0


def bridges(corpus, curve, count):
    """Return {(u, v): cost}, u < v, of all bridges."""
    found = {}
    for u in corpus.frames:
        for delta, v in nearest(corpus, corpus.z[u], count, corpus.episode[u]):
            if delta <= curve[-1]:
                found[min(u, v), max(u, v)] = price(curve, delta)
    return found


def edges(corpus, curve, count, held_out=None):
    """Return {u: {v: cost}} of all edges between frames that are not held out."""
    out = {u: {} for u in corpus.frames if corpus.episode[u] != held_out}
    for u, v in pairwise(corpus.frames):
        if corpus.episode[u] == corpus.episode[v] != held_out:
            out[u][v] = 1.0
    for (u, v), cost in bridges(corpus, curve, count).items():
        if u in out and v in out:
            out[u][v] = out[v][u] = cost
    return out


def goal_links(corpus, curve, count, goal, held_out):
    """Return {u: cost} of the edges into the goal."""
    near = nearest(corpus, goal, count, held_out)
    return {u: price(curve, delta) for delta, u in near if delta <= curve[-1]}


def dijkstra(out, target):
    """Return {u: cost} to ``target`` over edges {u: {v: cost}}, by a heap."""
    into = {}
    for u, heads in out.items():
        for v, cost in heads.items():
            into.setdefault(v, []).append((u, cost))
    done, heap = {}, [(0.0, target)]
    while heap:
        cost, v = heapq.heappop(heap)
        if v not in done:
            done[v] = cost
            for u, step in into.get(v, []):
                heapq.heappush(heap, (cost + step, u))
    return done


def routes(corpus, curve, count, goal, held_out):
    """Return (J, succ) as lists; the goal is a vertex of an augmented graph."""
    out = edges(corpus, curve, count, held_out)
    for u, cost in goal_links(corpus, curve, count, goal, held_out).items():
        out[u][GOAL] = cost
    cost_to_go = dijkstra(out, GOAL)
    total, successor = [], []
    for u in corpus.frames:
        total.append(cost_to_go.get(u, math.inf))
        steps = [
            (cost + cost_to_go[v], v)
            for v, cost in out.get(u, {}).items()
            if v in cost_to_go
        ]
        successor.append(min(steps)[1] if steps else NOWHERE)
    return total, successor


def sub_goal(corpus, curve, count, goal, held_out, observed):
    """Return ((kind, frame, entry, hops), (spent, J)) of Algorithm 1, line by line."""
    budget = len(curve)
    total, successor = routes(corpus, curve, count, goal, held_out)
    links = goal_links(corpus, curve, count, goal, held_out)
    candidates = nearest(corpus, observed, count, held_out)
    admissible = [c for c in candidates if c[0] <= curve[-1]] or candidates[:1]
    if all(math.isinf(total[u]) for _, u in admissible):
        improving = [
            (gap(corpus.z[u], goal), u, price(curve, delta))
            for delta, u in candidates
            if gap(corpus.z[u], goal) < gap(observed, goal)
        ]
        if improving:
            _, frame, spent = min(improving)
            return ("nearest_to_goal", frame, frame, 0), (spent, math.inf)
        return ("goal_no_route", None, None, 0), (0.0, math.inf)
    cost, entry = min((price(curve, delta) + total[u], u) for delta, u in admissible)
    spent = price(curve, gap(observed, corpus.z[entry]))
    if cost <= budget:
        hops, u = 0, entry
        while u != GOAL:
            u, hops = successor[u], hops + 1
        return ("goal_in_reach", None, entry, hops), (cost, cost)
    out = edges(corpus, curve, count, held_out)
    u, hops = entry, 0
    while u != GOAL:
        step = links[u] if successor[u] == GOAL else out[u][successor[u]]
        if hops >= 1 and spent + step > budget:
            break
        u, spent, hops = successor[u], spent + step, hops + 1
    return ("route", None if u == GOAL else u, entry, hops), (spent, cost)


def reachable(out, starts):
    """Return the set of frames that can be reached from ``starts``."""
    found, stack = set(), list(starts)
    while stack:
        u = stack.pop()
        if u not in found:
            found.add(u)
            stack.extend(out.get(u, {}))
    return found


def gaps_inside(corpus, distance):
    """Return the gaps of all pairs of frames, ``distance`` apart in one episode."""
    return [
        gap(episode[t], episode[t + distance])
        for episode in corpus.episodes
        for t in range(len(episode) - distance)
    ]


def gaps_across(corpus, every):
    """Return the gaps of all pairs of every so many frames of different episodes."""
    frames = corpus.frames[::every]
    return [
        gap(corpus.z[u], corpus.z[v])
        for u in frames
        for v in frames
        if corpus.episode[u] != corpus.episode[v]
    ]
