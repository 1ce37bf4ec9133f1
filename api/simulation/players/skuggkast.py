"""A bot for Skuggkast: it bluffs when it must, believes most of what it hears, and leaves when it is broke."""

import random
from collections.abc import Sequence
from typing import Any

from api.simulation.players import Json, seats_of

SYMBOLS = {
    "symbols": ["star", "sun", "moon", "crown", "sword", "skull"],
    "runes": ["wind", "fire", "shadows", "star", "earth", "water"],
}
SHADOWS = {"symbols": ["neutral", "blessed", "cursed"], "runes": ["neutral", "shadow", "guardian"]}


def opening(rng: random.Random, table: str, characters: Sequence[str]) -> Json:
    dice_set = rng.choice(["symbols", "runes"])
    sides = [side for side in SHADOWS[dice_set] if side != "guardian"]
    named = [(number, side) for number in range(1, 7) for side in sides]
    seats = rng.sample(list(characters), rng.choice([2, 2, 3, 3, 4, 5]))
    credit = rng.random() < 0.5
    return {
        "table": table,
        "game": "skuggkast",
        "seats": seats,
        "stake": {
            "asset": rng.choice(["krona", "drink"]) if credit else "krona",
            "amount": rng.choice([1, 2, 5]),
        },
        "dice": rng.choice(["reported", "service"]),
        "credit": credit,
        "rules": {
            "dice_set": dice_set,
            "medium": rng.choice(["dice", "cards"]),
            "target": rng.choice([1, 2, 3, 3, 5, 9]),
            "turn_raise": rng.choice([0, 0, 1, 3]),
            "after_lie": rng.choice(["rebuy", "no_rebuy"]),
            "burnt_stake": rng.choice(["pot", "burnt"]),
            "wrong_challenge_skips_turn": rng.random() < 0.5,
            "named_casts": [
                {"name": f"{number} {side}", "number": number, "shadow": side, "bonus": rng.choice([1, 2])}
                for number, side in rng.sample(named, rng.choice([0, 3, len(named)]))
            ],
            "starter": rng.choice([None, *seats]),
        },
    }


def peeks(view: Json, seat: str) -> bool:
    """Before it says anything."""
    return bool(view["phase"] == "claim" and view["turn"] == seat)


def propose(view: Json, seat: str, sealed: Sequence[Json], rng: random.Random) -> Json | None:
    me = seats_of(view)[seat]
    said: Json = {"seat": seat}
    if rng.random() < (0.005 if me["in_contention"] else 0.02):
        return {"action": "leave", **said}
    is_mine = view["turn"] == seat
    if not is_mine and not me["in_contention"] and rng.random() < 0.2:
        return {"action": "rebuy", **said}
    match view["phase"]:
        case "roll_off" if seat in view["waiting_for"]:
            return {"action": "roll_off", **said, **_die(view, rng)}
        case "turn" if is_mine:
            return _on_turn(view, me, said, rng)
        case "claim" if is_mine:
            cup = [item["value"] for item in sealed if item["what"] == "cup" and item["seat"] == seat]
            return _claim(view, me, said, cup[-1] if cup else None, rng)
        case "response" if not is_mine and seat in view["waiting_for"]:
            return {"action": rng.choice(["believe", "believe", "challenge"]), **said}
        case "response" if not is_mine and rng.random() < 0.1:
            return {"action": "challenge", **said}
        case "reveal" if is_mine:
            return _reveal(view, said, rng)
    return None


def _die(view: Json, rng: random.Random) -> Json:
    return {} if view["dice"] == "service" else {"number": rng.randint(1, 6)}


def thrown(view: Json, rng: random.Random) -> Json:
    dice_set = view["rules"]["dice_set"]
    symbol = rng.choice(["star", rng.choice(SYMBOLS[dice_set])])
    return {"symbol": symbol, "number": rng.randint(1, 6), "shadow": rng.choice(SHADOWS[dice_set])}


def _on_turn(view: Json, me: Json, said: Json, rng: random.Random) -> Json:
    if rng.random() < 0.03:
        return {"action": "leave", **said}
    if not me["in_contention"] and view["rules"]["after_lie"] == "rebuy" and rng.random() < 0.5:
        return {"action": "rebuy", **said}
    if view["dice"] == "service":
        return {"action": "roll", **said}
    if rng.random() < 0.5:
        return {"action": "roll", **said, "dice": thrown(view, rng)}
    return _claim(view, me, said, None, rng)


def _claim(view: Json, me: Json, said: Json, cup: Json | None, rng: random.Random) -> Json:
    """The truth where it helps, else a Skuggkast that has not been counted, and at times anything."""
    named = {(cast["number"], cast["shadow"]) for cast in view["rules"]["named_casts"]}
    truth: Json = cup or thrown(view, rng)
    words = truth
    if truth["symbol"] != "star" and rng.random() < 0.7:
        words = _wanted(view, me, rng)
    show: Json = {}
    is_named = words["symbol"] == "star" and (words["number"], words["shadow"]) in named
    if rng.random() < (0.6 if is_named else 0.03):
        show = {"show": True}
        if cup is None:
            show["dice"] = truth if rng.random() < 0.8 else thrown(view, rng)
    return {"action": "claim", **said, **words, **show}


def _wanted(view: Json, me: Json, rng: random.Random) -> Json:
    sides = [side for side in SHADOWS[view["rules"]["dice_set"]] if side != "guardian"]
    casts: list[Json] = [
        {"symbol": "star", "number": number, "shadow": side}
        for number in range(1, 7)
        for side in sides
        if f"star-{number}-{side}" not in me["casts"]
    ]
    return rng.choice(casts) if casts else thrown(view, rng)


def _reveal(view: Json, said: Json, rng: random.Random) -> Json:
    claim: dict[str, Any] = view["claim"]
    truth = {key: claim[key] for key in ("symbol", "number", "shadow")}
    return rng.choice(
        [
            {"action": "reveal", **said, "refuse": True},
            {"action": "reveal", **said, "dice": truth},
            {"action": "reveal", **said, "dice": thrown(view, rng)},
        ]
    )


def keeper(view: Json, rng: random.Random) -> Json | None:
    return {"action": "accept"} if view["phase"] == "response" else None
