"""What comes of an action at a table of Schattenspiel. The numbers are those of rules/schattenspiel.md."""

from collections.abc import Mapping
from typing import assert_never

from msgspec import UNSET, Struct, convert, to_builtins
from msgspec.structs import replace

from ledger import money
from ledger.games.play import (
    Play,
    open_with_stakes,
    opened_fields,
    require_new_table,
    require_opening,
    require_rule,
    require_stake_rules,
)
from ledger.games.schattenspiel.messages import (
    BEATS,
    BEST_OF_DEFAULT,
    BEST_OF_MAX,
    FORMATS,
    RIGHT,
    VALUE,
    VARIANTS,
    AlreadyShown,
    Hand,
    HandShown,
    Opened,
    OpenSchattenspiel,
    PlayRound,
    Reason,
    Resign,
    Resigned,
    RoundJudged,
    Rules,
    SchattenspielAction,
    Show,
)
from ledger.games.schattenspiel.state import State
from ledger.games.table import SeatAction, TableClosed
from ledger.messages import Posting, Uncovered


def open_table(play: Play[State], opening: OpenSchattenspiel) -> None:
    """Every seat's stake into the pot, its markers in front of it (rule 5), all or nothing."""
    markers = opening.rules.format == "markers"
    require_opening(play.larp, opening, seats_min=2, seats_max=2)
    require_stake_rules(play.larp, opening, required=markers)
    fields = opened_fields(opening, "schattenspiel", has_dice=False)
    rules = _agreed(opening.rules)
    require_new_table(play.larp, opening)
    account = (lambda seat: money.seat(opening.table, seat)) if markers else None
    open_with_stakes(play, Opened(**fields, rules=rules), account=account)


def _agreed(rules: Rules) -> Rules:
    """The rules with all defaults written out. Raises InvalidRules."""
    require_rule(rules.format in FORMATS, "format", " or ".join(FORMATS))
    if rules.format == "best_of":
        best_of = BEST_OF_DEFAULT if rules.best_of is UNSET else rules.best_of
        odd = best_of % 2 == 1 and 1 <= best_of <= BEST_OF_MAX
        require_rule(odd, "best_of", f"odd, 1 to {BEST_OF_MAX}")
        rules = replace(rules, best_of=best_of)
    else:
        require_rule(rules.best_of is UNSET, "best_of", "left out: it is for the format best_of only")
    require_rule(set(rules.variants) <= set(VARIANTS), "variants", f"any of {', '.join(VARIANTS)}")
    named_once = len(set(rules.variants)) == len(rules.variants)
    require_rule(named_once, "variants", "free of a variant that is named twice")
    return rules


def decide(play: Play[State], action: SchattenspielAction) -> None:
    """There is one phase, `play`, so no action comes at the wrong one: a table that is over is closed."""
    if isinstance(action, SeatAction):
        play.require_seat(action.seat)
    match action:
        case Show():
            _show(play, action)
        case PlayRound():
            _play_round(play, action)
        case Resign():
            play.record(Resigned(seat=action.seat))  # rule 6
            _close(play, play.state.other(action.seat))
        case _:
            assert_never(action)


def _show(play: Play[State], action: Show) -> None:  # rule 1
    _require_unshown(play.state, action.seat)
    hand = to_builtins(Hand(action.sign, action.call))
    play.record(HandShown(seat=action.seat, sealed=(play.seal(action.seat, "hand", hand),)))
    sealed = {seat: player.hand for seat, player in play.state.players.items() if player.hand is not None}
    if not play.state.waiting_for:
        hands = {seat: convert(play.peek(hidden), Hand) for seat, hidden in sealed.items()}
        _judge(play, hands, uncovered=tuple(play.uncover(hidden) for hidden in sealed.values()))


def _play_round(play: Play[State], action: PlayRound) -> None:  # rule 1
    for seat in action.shows:
        play.require_seat(seat)
    for seat in play.state.seats:
        _require_unshown(play.state, seat)
    _judge(play, {seat: action.shows[seat] for seat in play.state.seats}, uncovered=())


def _require_unshown(state: State, seat: str) -> None:
    if state.players[seat].hand is not None:
        raise AlreadyShown(f"{seat} has shown its hand; {' and '.join(state.waiting_for)} must show the other")


def _judge(play: Play[State], hands: Mapping[str, Hand], *, uncovered: tuple[Uncovered, ...]) -> None:
    verdict = judged(play.state, hands)
    marker: tuple[Posting, ...] = ()
    if verdict.winner is not None and play.state.rules.format == "markers":
        marker = (_marker(play, play.state.other(verdict.winner)),)
    play.record(
        RoundJudged(
            hands=hands,
            winner=verdict.winner,
            reason=verdict.reason,
            counted=verdict.counted,
            uncovered=uncovered,
        ),
        marker,
    )
    winner = _winner(play.state)
    if winner is not None:
        _close(play, winner)


class Verdict(Struct, frozen=True):
    """What a round comes to. A round that is won counts; one that nobody won may."""

    winner: str | None
    reason: Reason
    counted: bool


def judged(state: State, hands: Mapping[str, Hand]) -> Verdict:  # rule 2
    """The first rule that applies decides. `hands`: of both seats."""
    one, two = state.seats
    signs = {hand.sign for hand in hands.values()}
    total = VALUE[hands[one].sign] + VALUE[hands[two].sign]

    if "feu_werk" in state.rules.variants:  # rule 2.1
        undisciplined = [seat for seat in state.seats if state.players[seat].lit and hands[seat].call == "high"]
        if len(undisciplined) == 2:
            return Verdict(None, "discipline", counted=False)
        if undisciplined:
            return Verdict(state.other(undisciplined[0]), "discipline", counted=True)

    if signs == {"shadow"}:  # rule 2.2
        return Verdict(None, "double_shadow", counted="konklave_nord" in state.rules.variants)

    if "dust_covenant" in state.rules.variants and total == 7:  # rule 2.3
        return Verdict(one if hands[one].sign == "light" else two, "break_value", counted=True)

    right = [seat for seat in state.seats if total in RIGHT[hands[seat].call]]
    if len(right) == 1:  # rule 2.4
        return Verdict(right[0], "call", counted=True)

    if len(signs) == 2:  # rule 2.5
        return Verdict(one if BEATS[hands[one].sign] == hands[two].sign else two, "dominance", counted=True)

    return Verdict(None, "drawn", counted=False)  # rule 2.6


def _marker(play: Play[State], loser: str) -> Posting:  # rule 5
    """One marker into the pot, a token while there is one, else a note."""
    state = play.state
    assert state.stake is not None, "markers are staked"
    account, token = money.seat(state.table, loser), state.stake.asset
    has_token = play.till.balance(account, token) > 0
    return play.till.move(account, money.pot(state.table), token if has_token else money.note(loser, token), 1)


def _winner(state: State) -> str | None:
    """Rules 4 and 5: who has won, if anybody has."""
    one, two = state.seats
    needed = state.rules.points_to_win
    if needed is None:
        broke = [seat for seat in state.seats if state.markers(seat) == 0]
        return state.other(broke[0]) if broke else None
    leader = max(state.seats, key=lambda seat: state.players[seat].points)
    ahead = state.players[one].points != state.players[two].points
    return leader if ahead and state.players[leader].points >= needed else None


def _close(play: Play[State], winner: str) -> None:  # rule 6
    """The winner takes the pot, and each seat takes back the markers that are still in front of it."""
    postings = [*play.emptied(money.pot(play.state.table), winner)]
    for seat in play.state.seats:
        postings += play.emptied(money.seat(play.state.table, seat), seat)
    play.record(TableClosed(how="won", winner=winner), postings)
