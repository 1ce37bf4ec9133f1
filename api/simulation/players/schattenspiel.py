"""A bot for Schattenspiel: it shows and calls whatever comes to its mind."""

import random
from collections.abc import Sequence

from api.simulation.players import Json, seats_of

SIGNS = ["shadow", "rift", "light"]
CALLS = ["low", "high"]


def opening(rng: random.Random, table: str, characters: Sequence[str]) -> Json:
    format_ = rng.choice(["best_of", "best_of", "markers", "single"])
    credit = rng.random() < 0.5
    asset = rng.choice(["krona", "drink"]) if credit else "krona"
    rules: Json = {
        "format": format_,
        "variants": rng.sample(["konklave_nord", "dust_covenant", "feu_werk"], rng.randint(0, 3)),
        "matter": rng.choice(["", "who keeps watch"]),
    }
    if format_ == "best_of" and rng.random() < 0.8:
        rules["best_of"] = rng.choice([1, 3, 5, 7, 7])
    body: Json = {
        "table": table,
        "game": "schattenspiel",
        "seats": rng.sample(list(characters), 2),
        "credit": credit,
        "rules": rules,
    }
    if format_ == "markers" or rng.random() < 0.6:
        body["stake"] = {"asset": asset, "amount": rng.choice([1, 2, 4])}
    return body


def peeks(view: Json, seat: str) -> bool:
    return False


def propose(view: Json, seat: str, sealed: Sequence[Json], rng: random.Random) -> Json | None:
    if rng.random() < 0.01:
        return {"action": "resign", "seat": seat}
    if view["phase"] == "play" and not seats_of(view)[seat]["shown"]:
        return {"action": "show", "seat": seat, **any_hand(rng)}
    return None


def any_hand(rng: random.Random) -> Json:
    return {"sign": rng.choice(SIGNS), "call": rng.choice(CALLS)}


def keeper(view: Json, rng: random.Random) -> Json | None:
    if view["phase"] != "play" or rng.random() < 0.5:
        return None
    return {"action": "round", "shows": {seat["character"]: any_hand(rng) for seat in view["seats"]}}
