"""Skuggkast once more, written from the ruling alone and as plainly as it can be: mutable, one table, no events.

It says what must come of an action (the code of a refusal, or None) and what everybody must see after it.
"""

from typing import Any

from tests.games.players import Json

SIDES = {
    "symbols": (["star", "sun", "moon", "crown", "sword", "skull"], ["neutral", "blessed", "cursed"]),
    "runes": (["wind", "fire", "shadows", "star", "earth", "water"], ["neutral", "shadow", "guardian"]),
}


class Refusal(Exception):
    """Its argument is the code."""


class Model:
    """`tokens`, `owes`, `room`: what each character has, owes and may still owe, set before each action."""

    def __init__(self, opening: Json) -> None:
        self.rules: Json = opening["rules"]
        self.seats: list[str] = opening["seats"]
        self.stake: int = opening["stake"]["amount"]
        self.asset: str = opening["stake"]["asset"]
        self.service, self.credit = opening["dice"] == "service", opening["credit"]
        self.gone: list[str] = []
        self.out: set[str] = set()
        self.misses: set[str] = set()
        self.casts: dict[str, list[str]] = {seat: [] for seat in self.seats}
        self.count = dict.fromkeys(self.seats, 0)
        self.tokens: dict[str, int] = {}
        self.room: dict[str, int] = {}
        self.pot: dict[str, int] = {}
        self.own = dict.fromkeys(self.seats, 0)  # its tokens in the pot
        self.burnt = 0
        self.rolls: dict[str, int] | None = {} if self.rules["starter"] is None else None
        self.rollers = list(self.seats)
        self.turn: str | None = self.rules["starter"]
        self.phase = "roll_off" if self.turn is None else "turn"
        self.raised, self.winner = False, None
        self.cup: Json | None = None
        self.claim: Json | None = None
        self.deposit: tuple[int, int] | None = None

    # ---- asking ----

    @property
    def here(self) -> list[str]:
        return [seat for seat in self.seats if seat not in self.gone]

    @property
    def waiting_for(self) -> list[str]:
        match self.phase:
            case "roll_off":
                return [seat for seat in self.rollers if seat not in (self.rolls or {})]
            case "response":
                believed = (self.claim or {})["believed"]
                return [seat for seat in self.here if seat != self.turn and seat not in believed]
            case "closed":
                return []
            case _:
                return [str(self.turn)]

    def view(self) -> Json:
        over = self.phase == "closed"
        seats = [
            {
                "character": seat,
                "casts": self.casts[seat],
                "count": self.count[seat],
                "in_contention": seat not in self.out,
                "misses_turn": seat in self.misses,
                "left": seat in self.gone,
            }
            for seat in self.seats
        ]
        return {
            "phase": self.phase,
            "turn": None if over else self.turn,
            "waiting_for": self.waiting_for,
            "seats": seats,
            "claim": None if over else self.claim,
            "rolls": None if over else self.rolls,
            "pot": {asset: n for asset, n in self.pot.items() if n},
            "winner": self.winner,
        }

    # ---- acting ----

    def act(self, action: Json, rolled: Any) -> str | None:
        """`rolled`: what the service rolled, if it did."""
        name, seat = action["action"], action.get("seat")
        try:
            if self.phase == "closed":
                raise Refusal("table_closed")
            if name != "accept" and seat not in self.here:
                raise Refusal("not_seated")
            getattr(self, f"_{name}")(action, seat, rolled)
        except Refusal as refusal:
            return str(refusal)
        return None

    def _roll_off(self, action: Json, seat: str, rolled: Any) -> None:  # rule 2
        self._require(self.phase == "roll_off", "wrong_phase")
        number = self._thrown(action.get("number"), rolled)
        assert self.rolls is not None
        self._require(seat in self.rollers and seat not in self.rolls, "already_rolled")
        self.rolls[seat] = number
        self._judge_rolls()

    def _judge_rolls(self) -> None:
        assert self.rolls is not None
        if len(self.rollers) > 1 and all(seat in self.rolls for seat in self.rollers):
            best = max(self.rolls[seat] for seat in self.rollers)
            self.rollers = [seat for seat in self.rollers if self.rolls[seat] == best]
            self.rolls = {}
        if len(self.rollers) == 1:
            self.turn, self.phase, self.rolls = self.rollers[0], "turn", None

    def _roll(self, action: Json, seat: str, rolled: Any) -> None:  # rule 3
        self._require(self.phase == "turn", "wrong_phase")
        self._require(seat == self.turn, "not_your_turn")
        dice = self._thrown(action.get("dice"), rolled)
        self._require_sides(dice)
        self._raise()
        self.cup, self.phase = dice, "claim"

    def _claim(self, action: Json, seat: str, rolled: Any) -> None:  # rules 3 and 8
        self._require(self.phase == "claim" or (self.phase == "turn" and not self.service), "wrong_phase")
        self._require(seat == self.turn, "not_your_turn")
        words = {key: action[key] for key in ("symbol", "number", "shadow")}
        show, dice = action.get("show", False), action.get("dice")
        self._require(dice is None or (show and self.cup is None), "dice_not_accepted")
        self._require(not show or dice is not None or self.cup is not None, "dice_required")
        self._require_sides(words)
        self._require_sides(dice or words)
        self._require(not show or self._bonus(words) > 0, "not_named")
        self._raise()
        self.claim, self.phase = {"seat": seat, **words, "believed": [], "challenger": None}, "response"
        if show:
            self._judge(self.cup or dice, None)

    def _believe(self, action: Json, seat: str, rolled: Any) -> None:  # rule 4
        self._require(self.phase == "response", "wrong_phase")
        self._require(seat != self.turn, "own_claim")
        assert self.claim is not None
        self._require(seat not in self.claim["believed"], "already_answered")
        self.claim["believed"].append(seat)
        if not self.waiting_for:
            self._stand(1)

    def _accept(self, action: Json, seat: str, rolled: Any) -> None:
        self._require(self.phase == "response", "wrong_phase")
        self._stand(1)

    def _challenge(self, action: Json, seat: str, rolled: Any) -> None:  # rules 4 and 5
        self._require(self.phase == "response", "wrong_phase")
        self._require(seat != self.turn, "own_claim")
        self._require_cover(seat, self.stake)
        assert self.claim is not None
        if self.cup is not None:
            self._judge(self.cup, seat)
            return
        self.deposit = self._pay(seat, self.stake)
        self.claim["challenger"], self.phase = seat, "reveal"

    def _reveal(self, action: Json, seat: str, rolled: Any) -> None:
        self._require(self.phase == "reveal", "wrong_phase")
        self._require(seat == self.turn, "not_your_turn")
        self._require(action.get("refuse", False) or action.get("dice") is not None, "dice_required")
        if action.get("dice") is not None:
            self._require_sides(action["dice"])
        assert self.claim is not None
        self._judge(action.get("dice"), self.claim["challenger"])

    def _rebuy(self, action: Json, seat: str, rolled: Any) -> None:  # rule 7
        self._require(self.phase in (["turn"] if seat == self.turn else ["turn", "claim", "response"]), "wrong_phase")
        self._require(self.rules["after_lie"] == "rebuy", "no_rebuy")
        self._require(seat in self.out, "in_contention")
        cost = self.stake + (self.rules["turn_raise"] if seat == self.turn and not self.raised else 0)
        self._require_cover(seat, cost)
        if seat == self.turn:
            self._raise()
        self._pay(seat, self.stake)
        self.out.remove(seat)

    def _leave(self, action: Json, seat: str, rolled: Any) -> None:  # rules 11 and 12
        self.gone.append(seat)
        challenger = (self.claim or {}).get("challenger")
        if seat == self.turn:
            self._give_deposit_back()
        if self._nobody_can_win():
            if challenger in self.here:
                self._give_deposit_back()
            self._burn()
        elif len(self.here) == 1:
            self._win(self.here[0])
        elif seat == self.turn:
            self._next()
        elif self.phase == "roll_off":
            assert self.rolls is not None
            self.rolls.pop(seat, None)
            self.rollers = [roller for roller in self.rollers if roller != seat]
            self._judge_rolls()
        elif (self.phase == "response" and not self.waiting_for) or (self.phase == "reveal" and seat == challenger):
            self._stand(1)

    # ---- what comes of it ----

    def _judge(self, dice: Json | None, challenger: str | None) -> None:  # rule 5
        assert self.claim is not None and self.turn is not None
        words = {key: self.claim[key] for key in ("symbol", "number", "shadow")}
        if dice == words and words["shadow"] != "guardian":
            if challenger is not None and self.deposit is None:
                self._pay(challenger, self.stake)
            if challenger is not None and self.rules["wrong_challenge_skips_turn"]:
                self.misses.add(challenger)
            self._stand(1 + self._bonus(words) if challenger is None else 1)
            return
        self._give_deposit_back()
        if self.turn not in self.out:
            self.out.add(self.turn)
            if self.rules["burnt_stake"] == "burnt":
                ashes = min(self.stake, self.own[self.turn])
                self.own[self.turn] -= ashes
                self.burnt += ashes
                self._add(self.asset, -ashes)
        if self._nobody_can_win():
            self._burn()
        else:
            self._next()

    def _stand(self, counts: int) -> None:  # rules 6 and 9
        assert self.claim is not None and self.turn is not None
        cast = "{symbol}-{number}-{shadow}".format(**self.claim)
        seat, is_skuggkast = self.turn, self.claim["symbol"] == "star" and self.claim["shadow"] != "guardian"
        if is_skuggkast and seat not in self.out and cast not in self.casts[seat]:
            self.casts[seat].append(cast)
            self.count[seat] += counts
        if self.count[seat] >= self.rules["target"]:
            self._win(seat)
        else:
            self._next()

    def _next(self) -> None:  # rule 10
        assert self.turn is not None
        self.phase, self.cup, self.claim, self.deposit, self.raised = "turn", None, None, None, False
        at = self.seats.index(self.turn)
        while True:
            at = (at + 1) % len(self.seats)
            seat = self.seats[at]
            if seat in self.gone:
                continue
            if seat not in self.misses:
                break
            self.misses.remove(seat)
        self.turn = seat

    def _nobody_can_win(self) -> bool:
        return self.rules["after_lie"] == "no_rebuy" and self.out >= set(self.here)

    def _win(self, seat: str) -> None:
        self.tokens[seat] += self.pot.pop(self.asset, 0)
        self.phase, self.winner, self.pot = "closed", seat, {}  # type: ignore[assignment]

    def _burn(self) -> None:
        self.burnt += self.pot.pop(self.asset, 0)
        self.phase, self.pot = "closed", {}

    # ---- helpers ----

    @staticmethod
    def _require(allowed: bool, code: str) -> None:
        if not allowed:
            raise Refusal(code)

    def _thrown(self, brought: Any, rolled: Any) -> Any:
        self._require(self.service or brought is not None, "dice_required")
        self._require(not self.service or brought is None, "dice_not_accepted")
        return rolled if self.service else brought

    def _require_sides(self, dice: Json) -> None:
        symbols, shadows = SIDES[self.rules["dice_set"]]
        self._require(dice is None or (dice["symbol"] in symbols and dice["shadow"] in shadows), "illegal_move")

    def _bonus(self, words: Json) -> int:
        casts = [
            c for c in self.rules["named_casts"] if (c["number"], c["shadow"]) == (words["number"], words["shadow"])
        ]
        return casts[0]["bonus"] if casts and words["symbol"] == "star" else 0

    def _raise(self) -> None:
        if not self.raised and self.rules["turn_raise"]:
            self._pay(str(self.turn), self.rules["turn_raise"])
        self.raised = True

    def _require_cover(self, seat: str, amount: int) -> None:
        if self.asset == "krona":
            can = self.tokens[seat] + (self.room[seat] if self.credit else 0)
            self._require(can >= amount, "credit_exceeded" if self.credit else "insufficient_funds")

    def _pay(self, seat: str, amount: int) -> tuple[int, int]:
        self._require_cover(seat, amount)
        tokens = min(self.tokens[seat], amount) if self.asset == "krona" else 0
        self.tokens[seat] -= tokens
        self.own[seat] += tokens
        self.room[seat] -= amount - tokens
        self._add(self.asset, tokens)
        self._add(f"iou/{seat}/{self.asset}", amount - tokens)
        return tokens, amount - tokens

    def _give_deposit_back(self) -> None:
        if self.deposit is not None and self.claim is not None:
            seat, (tokens, notes) = self.claim["challenger"], self.deposit
            self.tokens[seat] += tokens
            self.own[seat] -= tokens
            self._add(self.asset, -tokens)
            self._add(f"iou/{seat}/{self.asset}", -notes)
            self.deposit = None

    def _add(self, asset: str, amount: int) -> None:
        self.pot[asset] = self.pot.get(asset, 0) + amount
