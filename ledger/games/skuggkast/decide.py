"""What comes of an action at a table of Skuggkast. The numbers are those of rules/skuggkast.md."""

from typing import Literal, assert_never

from msgspec import convert, to_builtins

from ledger import money
from ledger.errors import DiceNotAccepted, DiceRequired, IllegalMove, WrongPhase
from ledger.games.play import (
    Play,
    open_with_stakes,
    opened_fields,
    require_new_table,
    require_opening,
    require_rule,
    require_stake_rules,
)
from ledger.games.rolloff import RolledOff
from ledger.games.skuggkast.messages import (
    SHADOWS,
    SYMBOLS,
    TARGET_MAX,
    Accept,
    AlreadyAnswered,
    Believe,
    Challenge,
    Claim,
    ClaimAccepted,
    ClaimBelieved,
    ClaimChallenged,
    ClaimJudged,
    ClaimMade,
    ClaimStood,
    Dice,
    InContention,
    Leave,
    Left,
    NoRebuy,
    NotNamed,
    Opened,
    OpenSkuggkast,
    OwnClaim,
    Rebought,
    Rebuy,
    Reveal,
    Roll,
    Rolled,
    RollStart,
    SkuggkastAction,
)
from ledger.games.skuggkast.state import State
from ledger.games.table import SeatAction, TableClosed
from ledger.messages import AMOUNT_MAX, Posting, Uncovered
from ledger.sealing import Chance


def open_table(play: Play[State], opening: OpenSkuggkast) -> None:
    """Rule 1: every seat's stake, all or nothing."""
    require_opening(play.larp, opening, seats_min=2, seats_max=None)
    require_stake_rules(play.larp, opening, required=True)
    _require_rules(opening)
    require_new_table(play.larp, opening)
    open_with_stakes(play, Opened(**opened_fields(opening, "skuggkast"), rules=opening.rules))


def _require_rules(opening: OpenSkuggkast) -> None:
    rules = opening.rules
    require_rule(rules.dice_set in SYMBOLS, "dice_set", "symbols or runes")
    require_rule(rules.medium in ("dice", "cards"), "medium", "dice or cards")
    most = TARGET_MAX[rules.dice_set]
    require_rule(1 <= rules.target <= most, "target", f"1 to {most} with {rules.dice_set}")
    require_rule(0 <= rules.turn_raise <= AMOUNT_MAX, "turn_raise", f"0 to {AMOUNT_MAX}")
    require_rule(rules.after_lie in ("rebuy", "no_rebuy"), "after_lie", "rebuy or no_rebuy")
    require_rule(rules.burnt_stake in ("pot", "burnt"), "burnt_stake", "pot or burnt")
    sides = [shadow for shadow in SHADOWS[rules.dice_set] if shadow != "guardian"]
    for cast in rules.named_casts:
        require_rule(1 <= cast.number <= 6, "named_casts.number", "1 to 6")
        require_rule(cast.shadow in sides, "named_casts.shadow", " or ".join(sides))
        require_rule(1 <= cast.bonus <= AMOUNT_MAX, "named_casts.bonus", "1 or more")
    named = [(cast.number, cast.shadow) for cast in rules.named_casts]
    require_rule(len(set(named)) == len(named), "named_casts", "free of a number and shadow that is named twice")
    require_rule(rules.starter is None or rules.starter in opening.seats, "starter", "one of the seats, or null")


def decide(play: Play[State], action: SkuggkastAction) -> None:
    if isinstance(action, SeatAction):
        play.require_seat(action.seat)
    match action:
        case RollStart():
            _roll_start(play, action)
        case Roll():
            _roll(play, action)
        case Claim():
            _claim(play, action)
        case Believe():
            _believe(play, action)
        case Challenge():
            _challenge(play, action)
        case Accept():
            play.require_phase("response")
            play.record(ClaimAccepted())
            _stand(play)
        case Reveal():
            _reveal(play, action)
        case Rebuy():
            _rebuy(play, action)
        case Leave():
            _leave(play, action)
        case _:
            assert_never(action)


def _roll_start(play: Play[State], action: RollStart) -> None:  # rule 2
    play.require_phase("roll_off")
    number = play.thrown(action.number, Chance.die, "number")
    assert play.state.roll_off is not None, "phase roll_off has one"
    play.state.roll_off.require_unrolled(action.seat)
    play.record(RolledOff(seat=action.seat, number=number))


def _roll(play: Play[State], action: Roll) -> None:  # rule 3
    play.require_phase("turn")
    play.require_turn(action.seat, play.state.active)
    dice = play.thrown(action.dice, lambda chance: _thrown(chance, play.state.rules.dice_set), "dice")
    _require_side(play.state, dice)
    raised = _raise(play)
    play.record(Rolled(seat=action.seat, sealed=(play.seal(action.seat, "cup", to_builtins(dice)),)), raised)


def _thrown(chance: Chance, dice_set: str) -> Dice:
    return Dice(chance.pick(SYMBOLS[dice_set]), chance.die(), chance.pick(SHADOWS[dice_set]))


def _raise(play: Play[State]) -> tuple[Posting, ...]:
    """The raise, once a turn, before anything else that the action costs."""
    if play.state.raised or play.state.active is None:
        return ()
    return play.pay_stake(play.state.active, play.state.rules.turn_raise, "the raise is")


def _require_side(state: State, dice: Dice) -> None:
    for side, sides in ((dice.symbol, SYMBOLS[state.rules.dice_set]), (dice.shadow, SHADOWS[state.rules.dice_set])):
        if side not in sides:
            raise IllegalMove(f"the dice of {state.table} have no {side}: they show {', '.join(sides)}")


def _claim(play: Play[State], action: Claim) -> None:  # rules 3 and 8
    state, claimed = play.state, Dice(action.symbol, action.number, action.shadow)
    if state.phase == "turn" and state.dice == "service":
        raise WrongPhase(f"the service rolls at {state.table}: roll before you claim")
    play.require_phase("claim", "turn")
    play.require_turn(action.seat, state.active)
    if action.dice is not None and (state.cup is not None or not action.show):
        raise DiceNotAccepted("dice come with a claim only to show a roll that was not recorded")
    if action.show and state.cup is None and action.dice is None:
        raise DiceRequired("to show the dice the claim must bring them: nothing is under the cup")
    for dice in (claimed, action.dice) if action.dice else (claimed,):
        _require_side(state, dice)
    if action.show and _bonus(state, claimed) == 0:
        named = ", ".join(f"star-{cast.number}-{cast.shadow}" for cast in state.rules.named_casts)
        raise NotNamed(f"{claimed} is no named cast: {named or 'this table has none'}")
    play.record(ClaimMade(seat=action.seat, claimed=claimed, show=action.show), _raise(play))
    if action.show:
        _judge(play, action.dice, challenger=None)


def _bonus(state: State, cast: Dice) -> int:
    """What a named cast counts more when shown; 0 for any other."""
    named = {(n.number, n.shadow): n.bonus for n in state.rules.named_casts}
    return named.get((cast.number, cast.shadow), 0) if cast.symbol == "star" else 0


def _believe(play: Play[State], action: Believe) -> None:  # rule 4
    play.require_phase("response")
    _require_other(play.state, action.seat)
    if action.seat not in play.state.unanswered:
        raise AlreadyAnswered(f"{action.seat} has believed already; waiting for {', '.join(play.state.unanswered)}")
    play.record(ClaimBelieved(seat=action.seat))
    if not play.state.unanswered:
        _stand(play)


def _require_other(state: State, seat: str) -> None:
    if seat == state.active:
        raise OwnClaim(f"{seat} made the claim; the others answer it")


def _challenge(play: Play[State], action: Challenge) -> None:  # rules 4 and 5
    play.require_phase("response")
    _require_other(play.state, action.seat)
    play.require_stake(action.seat, "a challenge must cover")
    if play.state.cup is None:
        play.record(ClaimChallenged(seat=action.seat), play.pay_stake(action.seat))
    else:
        play.record(ClaimChallenged(seat=action.seat))
        _judge(play, None, challenger=action.seat)


def _reveal(play: Play[State], action: Reveal) -> None:  # rule 5
    play.require_phase("reveal")
    play.require_turn(action.seat, play.state.active)
    if action.dice is None and not action.refuse:
        raise DiceRequired("dice must say what lies under the cup, or refuse must be true")
    if action.dice is not None:
        _require_side(play.state, action.dice)
    assert play.state.claim is not None, "phase reveal has a claim"
    _judge(play, action.dice, challenger=play.state.claim.challenger)


def _judge(play: Play[State], dice: Dice | None, *, challenger: str | None) -> None:
    """Rule 5. `dice`: as shown; None where the cup holds them or the seat refused."""
    state = play.state
    assert state.claim is not None and state.active is not None, "only a claim is judged"
    uncovered: tuple[Uncovered, ...] = ()
    if state.cup is not None:
        dice, uncovered = convert(play.peek(state.cup), Dice), (play.uncover(state.cup),)
    verdict = _verdict(state.claim.claimed, dice)
    falls_out = verdict != "true" and state.players[state.active].in_contention
    postings: tuple[Posting, ...] = ()
    burnt = 0
    if verdict == "true":
        if challenger is not None and not state.claim.deposit:
            postings = play.pay_stake(challenger, why="a wrong challenge costs")
    else:
        postings = play.undone(state.claim.deposit)
        burnt = _own_tokens(state, state.active) if falls_out and state.rules.burnt_stake == "burnt" else 0
        if burnt:
            assert state.stake is not None
            postings += (play.till.move(money.pot(state.table), money.BURNT, state.stake.asset, burnt),)
    play.record(
        ClaimJudged(
            seat=state.active,
            challenger=challenger,
            dice=dice,
            verdict=verdict,
            misses_turn=verdict == "true" and challenger is not None and state.rules.wrong_challenge_skips_turn,
            falls_out=falls_out,
            burnt=burnt,
            uncovered=uncovered,
        ),
        postings,
    )
    if verdict == "true":
        _stand(play, shown=challenger is None)
    elif not play.state.somebody_can_win:
        _burn_pot(play)


def _verdict(claimed: Dice, dice: Dice | None) -> Literal["true", "lie", "guardian"]:
    if dice is None:
        return "lie"
    if dice.shadow == "guardian":
        return "guardian"
    return "true" if dice == claimed else "lie"


def _own_tokens(state: State, seat: str) -> int:
    """Rule 7: what the seat paid in here in tokens, less what was burnt of it, up to one stake."""
    assert state.stake is not None
    in_pot = state.paid.get(seat, {}).get(state.stake.asset, 0) - state.players[seat].burnt
    return min(in_pot, state.stake.amount)


def _stand(play: Play[State], *, shown: bool = False) -> None:
    """Rules 6, 8 and 9: a claim that stands counts, or nothing happens."""
    state = play.state
    assert state.claim is not None and state.active is not None, "only a claim stands"
    cast, player = state.claim.claimed, state.players[state.active]
    counts = 0
    if cast.is_skuggkast and player.in_contention and str(cast) not in player.casts:
        counts = 1 + (_bonus(state, cast) if shown else 0)
    play.record(ClaimStood(seat=state.active, cast=str(cast), counts=counts))
    if counts and play.state.players[state.active].count >= state.rules.target:
        play.win(state.active)


def _rebuy(play: Play[State], action: Rebuy) -> None:  # rule 7
    state, is_active = play.state, action.seat == play.state.active
    play.require_phase(*(("turn",) if is_active else ("turn", "claim", "response")))
    if state.rules.after_lie != "rebuy":
        raise NoRebuy(f"{state.table} was opened with after_lie no_rebuy")
    if state.players[action.seat].in_contention:
        raise InContention(f"{action.seat} is in contention")
    raised = _raise(play) if is_active else ()
    play.record(Rebought(seat=action.seat), (*raised, *play.pay_stake(action.seat)))


def _leave(play: Play[State], action: Leave) -> None:  # rules 11 and 12
    before, deposit = play.state, play.state.claim.deposit if play.state.claim else ()
    was_active = action.seat == before.active
    play.record(Left(seat=action.seat), play.undone(deposit) if was_active else ())
    state = play.state
    if not state.somebody_can_win:
        _burn_pot(play)
    elif len(state.seated) == 1:
        play.win(state.seated[0])
    elif state.phase == "response" and not state.unanswered:
        _stand(play)
    elif state.phase == "reveal" and state.claim and action.seat == state.claim.challenger:
        _stand(play)


def _burn_pot(play: Play[State]) -> None:
    """Rule 12: nobody can win. A stake put up by a seat still at the table first goes back, notes go home."""
    state = play.state
    claim = state.claim
    postings: list[Posting] = []
    if claim and claim.challenger in state.seated:
        postings += play.undone(claim.deposit)
    account = money.pot(state.table)
    for asset in sorted(state.pot):
        left = play.till.balance(account, asset)
        to = money.debtor(money.note_parts(asset)[0]) if money.is_note(asset) else money.BURNT
        if left:
            postings.append(play.till.move(account, to, asset, left))
    play.record(TableClosed(how="burnt", winner=None), postings)
