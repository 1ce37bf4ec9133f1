"""A bot for Schocken: it keeps its ones, throws on or stands as it pleases, and drops a die now and then."""

import random
from collections.abc import Sequence

from api.simulation.players import Json, seats_of


def opening(rng: random.Random, table: str, characters: Sequence[str]) -> Json:
    seats = rng.sample(list(characters), rng.choice([4, 4, 5, 6, 8]))
    credit = rng.random() < 0.5
    promise = [{"asset": "drink", "amount": 1}, {"asset": "schnapps", "amount": 2}]
    return {
        "table": table,
        "game": "schocken",
        "seats": seats,
        "dice": rng.choice(["reported", "service"]),
        "credit": credit,
        "rules": {
            "lids": rng.choice([1, 2, 3, 5, 13]),
            "forfeit": rng.choice([*promise, {"asset": "krona", "amount": rng.choice([1, 2])}]),
            "dropped_die_forfeit": rng.choice([None, *promise]),
            "hand_schock_forfeit": rng.choice([None, *promise]),
            "no_walling": rng.random() < 0.5,
            "starter": rng.choice([None, *seats]),
        },
    }


def peeks(view: Json, seat: str) -> bool:
    return False


def propose(view: Json, seat: str, sealed: Sequence[Json], rng: random.Random) -> Json | None:
    me, said = seats_of(view)[seat], {"seat": seat}
    if me["playing"] and rng.random() < 0.01:
        return {"action": "drop", **said}
    match view["phase"]:
        case "throwing" if view["turn"] == seat:
            if me["throws"] and rng.random() < 0.35:
                return {"action": "stand", **said}
            return _throw(view, me, said, rng)
        case "uncovering" if seat in view["waiting_for"]:
            return {"action": "uncover", **said, "dice": _dice(sum(die is None for die in me["hand"]), rng)}
    return None


def _dice(count: int, rng: random.Random) -> list[int]:
    """With a liking for ones and for what has come already."""
    favourite = rng.choice([1, 1, rng.randint(2, 6)])
    return [rng.choice([favourite, rng.randint(1, 6)]) for _ in range(count)]


def _throw(view: Json, me: Json, said: Json, rng: random.Random) -> Json:
    hand = [die for die in me["hand"] or [] if die is not None]
    keep = [die for die in hand if die == 1][:2]
    if rng.random() < 0.3:
        keep = rng.sample(hand, min(len(hand), rng.randint(0, 2)))
    throw: Json = {"action": "throw", **said, "keep": keep} if keep else {"action": "throw", **said}
    if view["dice"] == "service" or (me["throws"] == 2 and rng.random() < 0.4):
        return throw
    return {**throw, "dice": _dice(3 - len(keep), rng)}


def keeper(view: Json, rng: random.Random) -> Json | None:
    return None
