"""What comes of an action at a table of Schocken. Comments name the paragraphs of rules/schocken.md."""

from collections import Counter
from typing import assert_never

from msgspec import Struct

from ledger import money
from ledger.errors import BalanceOverflow, DiceRequired
from ledger.games.play import (
    Play,
    opened_fields,
    require_new_table,
    require_no_stake,
    require_opening,
    require_rule,
)
from ledger.games.schocken.hands import Hand, hand_of
from ledger.games.schocken.messages import (
    DICE,
    LID,
    THROWS_MAX,
    AlreadyUncovered,
    CupLifted,
    DiceDropped,
    Drop,
    Forfeit,
    Half,
    HalfLost,
    HandSchockOwed,
    IllegalThrow,
    MatchLost,
    NoSuchRule,
    NothingThrown,
    NotPlaying,
    Opened,
    OpenSchocken,
    RoundScored,
    SchockenAction,
    ShownHand,
    Stand,
    Stood,
    Throw,
    Thrown,
    Uncover,
    Walling,
)
from ledger.games.schocken.state import Go, State
from ledger.games.table import Movement, TableClosed
from ledger.messages import AMOUNT_MAX, Posting, Sealed
from ledger.sealing import Chance

# ---- opening ----


def open_table(play: Play[State], opening: OpenSchocken) -> None:
    """All lids go to the middle; a forfeit in tokens is put down by every seat, all or nothing."""
    rules = opening.rules
    forfeits = (rules.forfeit, rules.dropped_die_forfeit, rules.hand_schock_forfeit)
    assets = [forfeit.asset for forfeit in forfeits if forfeit is not None]
    require_opening(play.larp, opening, seats_min=4, seats_max=8, assets=assets)
    require_no_stake(opening)
    _require_rules(play, opening)
    require_new_table(play.larp, opening)
    opened = Opened(**opened_fields(opening, "schocken"), rules=rules)
    put_down = _put_down(play, opened)
    lids = play.till.move(money.MINT, money.middle(opened.table), LID, rules.lids)
    play.record(opened, (lids, *put_down))


def _require_rules(play: Play[State], opening: OpenSchocken) -> None:
    rules = opening.rules
    require_rule(1 <= rules.lids <= 60, "lids", "1 to 60")
    for name, forfeit, kinds in (
        ("forfeit", rules.forfeit, ("token", "promise")),
        ("dropped_die_forfeit", rules.dropped_die_forfeit, ("promise",)),
        ("hand_schock_forfeit", rules.hand_schock_forfeit, ("promise",)),
    ):
        if forfeit is not None:
            require_rule(play.till.kind(forfeit.asset) in kinds, f"{name}.asset", "a " + " or a ".join(kinds))
            require_rule(1 <= forfeit.amount <= AMOUNT_MAX, f"{name}.amount", f"1 to {AMOUNT_MAX}")
    require_rule(rules.starter is None or rules.starter in opening.seats, "starter", "one of the seats, or null")


def _put_down(play: Play[State], opened: Opened) -> tuple[Posting, ...]:
    """What every seat would owe to the others if it lost, where that is tokens."""
    forfeit = opened.rules.forfeit
    if play.till.kind(forfeit.asset) != "token":
        return ()
    amount, credit, why = forfeit.amount * (len(opened.seats) - 1), opened.credit, "the forfeit for all others is"
    for seat in opened.seats:
        play.till.require_cover(seat, forfeit.asset, amount, credit=credit, why=why)
    pot = money.pot(opened.table)
    return tuple(
        posting
        for seat in opened.seats
        for posting in play.till.pay(seat, pot, forfeit.asset, amount, credit=credit, why=why)
    )


# ---- actions ----


def decide(play: Play[State], action: SchockenAction) -> None:
    play.require_seat(action.seat)
    match action:
        case Throw():
            _throw(play, action)
        case Stand():
            _stand(play, action)
        case Uncover():
            _uncover(play, action)
        case Drop():
            _drop(play, action)
        case _:
            assert_never(action)


def _throw(play: Play[State], action: Throw) -> None:  # Throwing
    play.require_phase("throwing")
    play.require_turn(action.seat, play.state.turn)
    go = play.state.go(action.seat)
    under_cup = go.throws + 1 == THROWS_MAX
    is_blind = under_cup and action.dice is None and play.state.dice == "reported"
    dice = None if is_blind else play.thrown(action.dice, lambda chance: _rolled(chance, action.keep), "dice")
    _require_legal(go, action.seat, action.keep, dice)
    if play.state.rules.no_walling:
        _require_no_walling(go, action.seat, action.keep)
    _require_room(play)
    sealed: tuple[Sealed, ...] = ()
    if under_cup and dice is not None:
        sealed = (play.seal(action.seat, "cup", list(dice)),)
    play.record(Thrown(seat=action.seat, keep=action.keep, dice=None if under_cup else dice, sealed=sealed))
    _score_if_over(play)


def _require_room(play: Play[State]) -> None:
    """Whatever may fall due when the round is scored must fit, for every seat: a refusal that came only with some
    dice would tell what lies under a cup, and let a seat throw until they please. Raises BalanceOverflow."""
    rules, others = play.state.rules, len(play.state.seats) - 1
    due: Counter[str] = Counter()
    for forfeit in (rules.forfeit, rules.hand_schock_forfeit):
        if forfeit is not None and play.till.kind(forfeit.asset) == "promise":
            due[forfeit.asset] += forfeit.amount * others
    for seat in play.state.seats:
        for asset, amount in due.items():
            if play.till.room(seat, asset) < amount:
                raise BalanceOverflow(f"{seat} owes so much {asset} already that the forfeits could not be recorded")


def _rolled(chance: Chance, keep: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(chance.die() for _ in range(DICE - len(keep)))


def _require_legal(go: Go, seat: str, keep: tuple[int, ...], dice: tuple[int, ...] | None) -> None:
    if len(keep) >= DICE:
        raise IllegalThrow(f"{seat} would keep {len(keep)} dice, at most {DICE - 1} are kept")
    if Counter(keep) - Counter(go.open_dice):
        lie = f"{_said(go.open_dice)} lie there" if go.throws else "nothing lies there yet"
        raise IllegalThrow(f"{seat} would keep {_said(keep)}, {lie}")
    if dice is not None and len(keep) + len(dice) != DICE:
        raise IllegalThrow(f"{seat} keeps {len(keep)} dice and throws {DICE - len(keep)}, not {len(dice)}")


def _require_no_walling(go: Go, seat: str, keep: tuple[int, ...]) -> None:
    thrown_again = go.open_dice.count(1) - keep.count(1)
    if thrown_again and any(die != 1 for die in keep):
        raise Walling(f"{seat} would keep {_said(keep)} and throw a 1 again: every 1 stays before any other die does")


def _said(dice: tuple[int, ...]) -> str:
    return "-".join(str(die) for die in dice)


def _stand(play: Play[State], action: Stand) -> None:  # Throwing
    play.require_phase("throwing")
    play.require_turn(action.seat, play.state.turn)
    if play.state.go(action.seat).throws == 0:
        raise NothingThrown(f"{action.seat} must throw once before it stands")
    _require_room(play)
    play.record(Stood(seat=action.seat))
    _score_if_over(play)


def _uncover(play: Play[State], action: Uncover) -> None:  # Throwing
    play.require_phase("uncovering")
    if action.dice is None:
        raise DiceRequired("dice must say what lies under the cup")
    go = play.state.go(action.seat)
    if not go.is_blind:
        raise AlreadyUncovered(f"{action.seat} has no throw to uncover; waiting for {', '.join(play.state.blind)}")
    if len(action.dice) != go.under_cup:
        raise IllegalThrow(f"{action.seat} has {go.under_cup} dice under the cup, not {len(action.dice)}")
    _require_room(play)
    play.record(CupLifted(seat=action.seat, dice=action.dice))
    _score_if_over(play)


def _drop(play: Play[State], action: Drop) -> None:  # Throwing
    forfeit = play.state.rules.dropped_die_forfeit
    if forfeit is None:
        raise NoSuchRule(f"{play.state.table} was opened without a dropped_die_forfeit")
    if action.seat not in play.state.playing:
        raise NotPlaying(f"{action.seat} is out of this half: {', '.join(play.state.playing)} play")
    play.record(DiceDropped(seat=action.seat), _owed(play, action.seat, forfeit))


def _owed(play: Play[State], seat: str, forfeit: Forfeit) -> tuple[Posting, ...]:
    """A promise falls due: a note for each other seat."""
    return tuple(
        play.till.issue(seat, money.purse(other), forfeit.asset, forfeit.amount)
        for other in play.state.clockwise_from(seat)[1:]
    )


# ---- the end of a round ----


class Standing(Struct, frozen=True):
    """A seat's hand, all dice seen. `place`: in the order of throwing, from 0."""

    seat: str
    dice: tuple[int, ...]
    hand: Hand
    throws: int
    place: int

    @property
    def strength(self) -> tuple[tuple[int, tuple[int, ...]], int, int]:  # Hands: equal hands
        return self.hand.strength, -self.throws, -self.place


def _score_if_over(play: Play[State]) -> None:
    if play.state.turn is None and not play.state.blind:
        _score(play)


def _score(play: Play[State]) -> None:  # Scoring
    state = play.state
    standings = sorted(_standings(play), key=lambda standing: standing.strength, reverse=True)
    best, worst = standings[0], standings[-1]
    taken = _taken(state, best, worst)
    cups = [cup for seat in state.playing if (cup := state.go(seat).cup) is not None]
    hands = tuple(ShownHand(s.seat, s.dice, s.hand.name, s.throws) for s in standings)
    scored = RoundScored(
        best=best.seat,
        worst=worst.seat,
        hand=best.hand.name,
        lids=sum(amount for *_, amount in taken),
        hands=hands,
        uncovered=tuple(play.uncover(cup) for cup in cups),
    )
    play.record(scored, play.moved(taken))
    forfeit = state.rules.hand_schock_forfeit
    for standing in standings:
        if forfeit is not None and standing.hand.is_hand_schock:
            play.record(HandSchockOwed(seat=standing.seat), _owed(play, standing.seat, forfeit))
    if play.state.lids(worst.seat) == state.rules.lids:
        _lose_half(play, worst.seat)


def _standings(play: Play[State]) -> list[Standing]:
    standings = []
    for place, seat in enumerate(play.state.playing):
        go = play.state.go(seat)
        dice = (*go.open_dice, *(play.peek(go.cup) if go.cup else ()))
        hand = hand_of(dice, in_one_throw=go.in_one_throw)
        standings.append(Standing(seat, dice, hand, go.throws, place))
    return standings


def _taken(state: State, best: Standing, worst: Standing) -> list[Movement]:
    """The lids that the lowest hand takes, and where from."""
    middle, to = money.middle(state.table), money.seat(state.table, worst.seat)
    lids = best.hand.lids
    if lids is None:
        sources = [(middle, state.middle)]
        sources += [(money.seat(state.table, s), state.lids(s)) for s in state.clockwise_from(worst.seat)[1:]]
    elif state.middle:
        sources = [(middle, min(lids, state.middle))]
    else:
        sources = [(money.seat(state.table, best.seat), min(lids, state.lids(best.seat)))]
    return [(from_, to, LID, amount) for from_, amount in sources if amount]


# ---- the end of a half, and of the match ----


def _lose_half(play: Play[State], loser: str) -> None:  # Scoring: second half, final
    state = play.state
    lids, in_front = state.rules.lids, money.seat(state.table, loser)
    next_ = _next_half(state, loser)
    lost = HalfLost(half=state.half, loser=loser, next=next_)
    if next_ is not None:
        play.record(lost, (play.till.move(in_front, money.middle(state.table), LID, lids),))
        return
    play.record(lost)
    play.record(MatchLost(loser=loser), _forfeited(play, loser))
    play.record(TableClosed(how="lost", winner=None), (play.till.move(in_front, money.MINT, LID, lids),))


def _next_half(state: State, loser: str) -> Half | None:
    if state.half == 1:
        return 2
    return "final" if state.half == 2 and loser not in state.half_losers else None


def _forfeited(play: Play[State], loser: str) -> tuple[Posting, ...]:
    """The others take back what they put down, and each gets its part of the loser's: tokens first, then notes."""
    state, forfeit = play.state, play.state.rules.forfeit
    if play.till.kind(forfeit.asset) == "promise":
        return _owed(play, loser, forfeit)
    pot, others = money.pot(state.table), state.clockwise_from(loser)[1:]
    postings = [
        play.till.give(pot, seat, asset, amount)
        for seat in others
        for asset, amount in sorted(state.paid.get(seat, {}).items())
    ]
    tokens = state.paid.get(loser, {}).get(forfeit.asset, 0)
    for seat in others:
        part = min(tokens, forfeit.amount)
        if part:
            postings.append(play.till.give(pot, seat, forfeit.asset, part))
        if part < forfeit.amount:
            note = money.note(loser, forfeit.asset)
            postings.append(play.till.give(pot, seat, note, forfeit.amount - part))
        tokens -= part
    return tuple(postings)
