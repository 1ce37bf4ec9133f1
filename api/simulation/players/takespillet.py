"""A bot for Tåkespillet: it hunts the other regent when it can reach it, and wanders about when it cannot.

At a table for 7 both are patient: nobody fells a regent, and the fog finds its way to all of the board.
"""

import random
from collections.abc import Sequence

from api.simulation.players import Json

PIECES = ["regent", "house", "spear", "farmer1", "farmer2", "farmer3"]
STRAIGHT = [(1, 0), (-1, 0), (0, 1), (0, -1)]
DIAGONAL = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def opening(rng: random.Random, table: str, characters: Sequence[str]) -> Json:
    credit = rng.random() < 0.5
    return {
        "table": table,
        "game": "takespillet",
        "seats": rng.sample(list(characters), 2),
        "stake": {"asset": rng.choice(["krona", "drink"]) if credit else "krona", "amount": _stake(rng)},
        "dice": rng.choice(["reported", "service"]),
        "credit": credit,
    }


def _stake(rng: random.Random) -> int:
    return 7 if rng.random() < 0.02 else rng.choice([3, 5])


def _is_patient(view: Json) -> bool:
    return bool(view["stake"]["amount"] == 7)


def peeks(view: Json, seat: str) -> bool:
    return False


def propose(view: Json, seat: str, sealed: Sequence[Json], rng: random.Random) -> Json | None:
    said: Json = {"seat": seat}
    if not _is_patient(view) and rng.random() < 0.02:
        return {"action": rng.choice(["resign", *["draw"] * 9]), **said}
    if seat not in view["waiting_for"]:
        return None
    rolls = view["dice"] != "service"
    match view["phase"]:
        case "roll_off":
            return {"action": "roll_off", **said, **({"number": rng.randint(1, 6)} if rolls else {})}
        case "setup":
            return _place(view, seat, rng)
        case "move":
            move = _move(view, seat, rng) if rng.random() < 0.6 else None
            face = {"face": rng.choice([0, 1, 2, 3, 4, "sok"])} if rolls else {}
            return move or {"action": "roll_sok", **said, **face}
        case "allocate":
            row = rng.randint(max(0, view["sok"] - 2), min(2, view["sok"]))
            return {"action": "allocate", **said, "row": row, "column": view["sok"] - row}
        case "fog":
            return {"action": "roll_fog", **said, **(_fog(view, seat, rng) if rolls else {})}
        case _:  # a table that is over: nobody does anything there
            return None


def _place(view: Json, seat: str, rng: random.Random) -> Json:
    rows = (1, 2) if view["seats"][0]["character"] == seat else (7, 8)
    squares = rng.sample([[row, column] for row in rows for column in range(1, 9)], 6)
    total = view["stake"]["amount"]
    first = rng.randint(1, total - 2)
    second = rng.randint(1, total - first - 1)
    stakes = [first, second, total - first - second]
    return {
        "action": "place",
        "seat": seat,
        "regent": squares[0],
        "house": squares[1],
        "spear": squares[2],
        "farmers": [{"at": at, "stake": stake} for at, stake in zip(squares[3:], stakes, strict=True)],
    }


def _fog(view: Json, seat: str, rng: random.Random) -> Json:
    """The dice and the tile; of patient players the dice find what is not turned yet."""
    fog: Json = {"row": rng.randint(1, 6), "column": rng.randint(1, 6)}
    if _is_patient(view):
        fog = rng.choice(_aimed(view, seat) or [fog])
        return {**fog, "tile": "blank" if rng.random() < 0.99 else "sok"}
    if rng.random() < 0.95:
        fog["tile"] = "sok" if rng.random() < 0.1 else "blank"
    return fog


def _aimed(view: Json, seat: str) -> list[Json]:
    """The throws that hit an unturned square on which no regent stands."""
    south, added = view["seats"][0]["character"] == seat, view["allocated"]
    regents = [piece["at"] for piece in view["pieces"] if piece["piece"] == "regent"]
    throws = []
    for row in range(1, 9):
        for column in range(1, 9):
            mine = (row, column) if south else (9 - row, 9 - column)
            throw = {"row": mine[0] - added["row"], "column": mine[1] - added["column"]}
            if view["board"][8 - row][column - 1] == "." and [row, column] not in regents:
                if all(1 <= die <= 6 for die in throw.values()):
                    throws.append(throw)
    return throws


def _move(view: Json, seat: str, rng: random.Random) -> Json | None:
    """A move that looks legal; one that fells the regent if there is one. None when there is none."""
    mine = {piece["piece"]: piece["at"] for piece in view["pieces"] if piece["seat"] == seat}
    theirs = {tuple(piece["at"]): piece["piece"] for piece in view["pieces"] if piece["seat"] != seat}
    moves = [
        (name, to)
        for name, at in mine.items()
        if name not in view["moved"]
        for to in _reached(view, seat, name, at)
        if to not in [tuple(other) for other in mine.values()]
    ]
    if not moves:
        return None
    if _is_patient(view):
        moves = [move for move in moves if theirs.get(move[1]) != "regent"] or [
            (name, tuple(at)) for name, at in mine.items()
        ]
    felling = [move for move in moves if move[1] in theirs]
    regent = [move for move in felling if theirs[move[1]] == "regent"]
    name, to = rng.choice(regent or (felling if felling and rng.random() < 0.7 else moves))
    return {"action": "move", "seat": seat, "piece": name, "to": list(to)}


def _reached(view: Json, seat: str, piece: str, at: Sequence[int]) -> list[tuple[int, int]]:
    up = 1 if view["seats"][0]["character"] == seat else -1
    steps = {"regent": STRAIGHT + DIAGONAL, "house": STRAIGHT, "spear": DIAGONAL}
    directions = steps.get(piece, [(up, -1), (up, 0), (up, 1)])
    taken = {tuple(other["at"]) for other in view["pieces"]}
    reached = []
    for down, right in directions:
        for far in (1, 2) if piece in steps else (1,):
            row, column = at[0] + down * far, at[1] + right * far
            if not (1 <= row <= 8 and 1 <= column <= 8) or view["board"][8 - row][column - 1] == "~":
                break
            reached.append((row, column))
            if (row, column) in taken:
                break
    return reached


def keeper(view: Json, rng: random.Random) -> Json | None:
    return None
