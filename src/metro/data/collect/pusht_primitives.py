"""Pushes of PushT's T: where to stand, which way to push, how to get there.

Places are in window units; what is said to be in the T's own frame turns with it.
"""

import math
from dataclasses import dataclass

import numpy as np

from metro.envs.pusht_geometry import (
    AGENT_RADIUS,
    WINDOW,
    Points,
    distance_to_block,
    to_window,
)

_CENTRE_OF_MASS = np.array([0.0, 45.0])
_CLEARANCE = AGENT_RADIUS + 1.0
_STAND_OFF = AGENT_RADIUS + 6.0
_LOST = AGENT_RADIUS + 5.0
_ORBIT = 100.0
_ORBIT_STEP = math.radians(40)
_BORDER = AGENT_RADIUS + 10.0
_CANDIDATES = 12
_APPROACH_LIMIT = 25
_OUTLINE = np.array(
    [
        (-60.0, 0.0),
        (60.0, 0.0),
        (60.0, 30.0),
        (15.0, 30.0),
        (15.0, 120.0),
        (-15.0, 120.0),
        (-15.0, 30.0),
        (-60.0, 30.0),
    ]
)
"""Corners of the T in its own frame, the inside on the right hand of each edge."""

_NEXT_CORNER = np.roll(_OUTLINE, -1, axis=0)


@dataclass
class Push:
    """One push of the T, and how far it has got.

    Attributes:
        contact: ``[2]`` point of the T's edge, in its own frame.
        direction: ``[2]`` unit vector of the push, in the T's own frame.
        follows: Whether the push turns with the T; else its heading is kept.
        speed: Length of the actions while pushing.
        steps_left: How many steps of pushing remain.
        retreat: How many steps to back off afterwards.
        patience: Steps left to get to where the push begins.
        heading: ``[2]`` the direction in the window when it began; None before.
        touched: Whether the disc has met the T since.
    """

    contact: Points
    direction: Points
    follows: bool
    speed: float
    steps_left: int
    retreat: int
    patience: int = _APPROACH_LIMIT
    heading: Points | None = None
    touched: bool = False

    @property
    def is_over(self) -> bool:
        """Whether the disc has pushed and backed off."""
        begun = self.heading is not None
        return begun and self.steps_left <= 0 and self.retreat <= 0

    def begin(self, pose: Points) -> None:
        """Note that the disc stands where the push begins."""
        self.heading = turned(self.direction, pose)

    def aim(self, pose: Points) -> Points:
        """Return the direction of the push in the window, ``[2]``."""
        if self.follows or self.heading is None:
            return turned(self.direction, pose)
        return self.heading

    def staging_point(self, pose: Points) -> Points:
        """Return where the disc stands, in the window, before it pushes."""
        return placed(self.contact - _STAND_OFF * self.direction, pose)

    def has_slipped(self, agent: Points, pose: Points) -> bool:
        """Return whether the disc met the T and left it; notes the first meeting."""
        apart = float(distance_to_block(agent[None], pose)[0])
        self.touched = self.touched or apart < AGENT_RADIUS + 1
        return self.touched and apart > _LOST


def choose_push(agent: Points, pose: Points, rng: np.random.Generator) -> Push:
    """Return a random push of the T at ``pose`` ``[3]``, drawn from several.

    Of a dozen random points of the edge the winner has the best sum of luck, turning
    arm, nearness to the ``agent`` ``[2]``, and of pushing towards the middle of the
    window, which counts more the nearer the T is to the border. Points that the disc
    cannot get behind lose.
    """
    contacts, directions = _random_contacts(rng)
    aims = to_window(directions, np.array([0.0, 0.0, pose[2]]))
    starts = to_window(contacts - _STAND_OFF * directions, pose)
    homeward = 1 - placed(_CENTRE_OF_MASS, pose) / (WINDOW / 2)
    # A disc beyond the border could not stand there.
    beyond = np.abs(starts - WINDOW / 2).max(1) > WINDOW / 2 - _BORDER
    score = (
        rng.uniform(0, 1.5, _CANDIDATES)
        + _turning_arms(contacts, directions) / 60
        - np.linalg.norm(starts - agent, axis=1) / 120
        + 2 * aims @ homeward
        - 10 * beyond
    )
    best = int(score.argmax())
    return Push(
        contact=contacts[best],
        direction=directions[best],
        follows=bool(rng.random() < 0.5),
        speed=rng.uniform(0.1, 0.35),
        steps_left=int(rng.integers(6, 19)),
        retreat=int(rng.integers(0, 3)),
    )


def route_around(agent: Points, target: Points, pose: Points) -> Points:
    """Return where to head for, ``[2]``, to reach ``target`` without touching the T.

    The target itself if the way is free, else the next place on a circle round the T.
    """
    if _is_free(agent, target, pose):
        return target
    centre = placed(_CENTRE_OF_MASS, pose)
    here, there = agent - centre, target - centre
    angle = math.atan2(here[1], here[0])
    turn = math.remainder(math.atan2(there[1], there[0]) - angle, math.tau)
    angle += math.copysign(min(abs(turn), _ORBIT_STEP), turn)
    waypoint = centre + _ORBIT * np.array([math.cos(angle), math.sin(angle)])
    return inside(waypoint)


def placed(point: Points, pose: Points) -> Points:
    """Return where a ``point`` ``[2]`` of the T's own frame is in the window."""
    return np.asarray(to_window(point[None], pose)[0])


def turned(vector: Points, pose: Points) -> Points:
    """Return which way a ``vector`` ``[2]`` of the T's own frame points."""
    return np.asarray(to_window(vector[None], np.array([0.0, 0.0, pose[2]]))[0])


def limit_length(vector: Points, longest: float) -> Points:
    """Return ``vector`` ``[2]``, shortened to ``longest`` if it is longer."""
    length = float(np.linalg.norm(vector))
    return vector if length <= longest else vector * (longest / length)


def inside(place: Points) -> Points:
    """Return the point of the window nearest to ``place`` where the disc fits."""
    return np.asarray(np.clip(place, AGENT_RADIUS, WINDOW - AGENT_RADIUS))


def _random_contacts(rng: np.random.Generator) -> tuple[Points, Points]:
    """Return points of the T's edge and ways to push there, ``[C, 2]`` each."""
    edges = _NEXT_CORNER - _OUTLINE
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    # By length, so that all points of the outline are equally likely.
    picked = rng.choice(len(edges), _CANDIDATES, p=lengths / lengths.sum())
    along = edges[picked] / lengths[picked, None]
    inward = np.stack([-along[:, 1], along[:, 0]], 1)
    tilt = rng.uniform(-0.5, 0.5, (_CANDIDATES, 1))
    places = rng.uniform(0.05, 0.95, (_CANDIDATES, 1))
    contacts = _OUTLINE[picked] + places * edges[picked]
    return contacts, np.cos(tilt) * inward + np.sin(tilt) * along


def _turning_arms(contacts: Points, directions: Points) -> Points:
    """Return how far from the centre of mass the line of each push passes, ``[C]``."""
    arms = contacts - _CENTRE_OF_MASS
    across = arms[:, 0] * directions[:, 1] - arms[:, 1] * directions[:, 0]
    return np.asarray(np.abs(across))


def _is_free(agent: Points, target: Points, pose: Points) -> bool:
    """Return whether the disc can go straight to ``target``, clear of the T.

    Where the disc stands does not count: it may well touch the T already.
    """
    # From a fifth of the way on: the disc may stand against the T.
    way = agent + np.linspace(0.2, 1, 12)[:, None] * (target - agent)
    return bool(distance_to_block(way, pose).min() > _CLEARANCE)
