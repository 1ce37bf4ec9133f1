"""Notes, games on credit, settlements, plans, reversals and voids in any order, against a model of the rules.

Each request is decided by the real Book and by `debts_model`; both must do the same or refuse with the same code.
"""

from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledger import purses
from ledger.book import READER, Act, Applied, Book, LarpCommand, Void, VoidTable
from ledger.errors import Refused
from ledger.games.skuggkast.messages import Accept, Claim, Leave, OpenSkuggkast, Rules
from ledger.games.table import Action, Sum
from ledger.money import may_go_below_zero
from ledger.plans import SettlePlan
from projections.lots import NoteMove, lying
from projections.simplify import Owing, simplified
from tests.ledger.debts_model import PROMISE, TOKENS, Model, Move, No, Table
from tests.support.in_memory import MemoryLarp

CHARACTERS = ("alva", "birk", "embla", "frej")
WHO = st.sampled_from(CHARACTERS)
ASSET = st.sampled_from((*TOKENS, PROMISE))
AMOUNT = st.integers(1, 5)
PAIR = st.tuples(WHO, WHO).filter(lambda pair: pair[0] != pair[1])
FEW = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


class Evening(RuleBasedStateMachine):
    """One LARP. `plans`: those that were made before and may be stale by now."""

    @initialize(
        purse=st.lists(st.integers(0, 30), min_size=4, max_size=4),
        limit=st.integers(5, 30),
        notes=st.lists(st.tuples(PAIR, ASSET, AMOUNT), min_size=4, max_size=12),
    )
    def begin(self, purse: Sequence[int], limit: int, notes: Sequence[tuple[tuple[str, str], str, int]]) -> None:
        self.larp, self.model = MemoryLarp(), Model(CHARACTERS)
        self.plans: list[SettlePlan] = []
        self.opened = 0
        for asset, kind in (("krona", "token"), ("skruv", "token"), (PROMISE, "promise")):
            self.larp.do(purses.DefineAsset(asset=asset, kind=kind, name=asset))
        for who, amount in zip(CHARACTERS, purse, strict=True):
            self.larp.do(purses.AddCharacter(character=who, name=who, credit_limit={"krona": limit}))
            self.model.limits[who, "krona"] = limit
            if amount:
                self.both(purses.Grant(to=who, asset="krona", amount=amount), self.model.grant, who, "krona", amount)
        for (debtor, creditor), asset, amount in notes:
            self.iou(debtor, creditor, asset, amount)

    def both(
        self, command: LarpCommand, expected: Callable[..., list[Move]], *args: object
    ) -> Sequence[Applied] | None:
        """What the Book and the model make of it: the same. What happened, or None if both refused."""
        before, owed = (self.larp.book.position, self.larp.balances()), self.owed()
        code, moves = None, []
        try:
            moves = expected(*args)
        except No as no:
            code = no.code
        refusal, applied = None, []
        try:
            applied = self.larp.do(command)
        except Refused as refused:
            refusal = refused
        assert (refusal.code if refusal else None) == code, f"{command}: {refusal or 'was done'}, expected {code}"
        if refusal is not None:
            assert (self.larp.book.position, self.larp.balances()) == before, "a refusal changed something"
            return None
        event = applied[-1].recorded.event
        reversible = isinstance(event, purses.REVERSIBLE)
        self.model.happened(moves, applied[-1].recorded.position if reversible else None)
        if not isinstance(event, purses.Reversed):
            for (who, asset), now in self.owed().items():
                within = now <= max(owed.get((who, asset), 0), self.model.limits.get((who, asset), 0))
                assert asset == PROMISE or within, f"{who} owes {now} {asset} past the limit"
        return applied

    def owed(self) -> dict[tuple[str, str], int]:
        return {
            (account.partition("/")[2], asset.split("/")[2]): -n
            for (account, asset), n in self.larp.balances().items()
            if account.startswith("debtor/")
        }

    # ---- by hand ----

    @rule(giver=WHO, taker=WHO, asset=ASSET, n=AMOUNT)
    def transfer(self, giver: str, taker: str, asset: str, n: int) -> None:
        command = purses.Transfer(from_=giver, to=taker, asset=asset, amount=n)
        self.both(command, self.model.transfer, giver, taker, asset, n)

    @rule(who=WHO, asset=ASSET, n=AMOUNT, out=st.booleans())
    def grant_or_collection(self, who: str, asset: str, n: int, out: bool) -> None:
        if out:
            self.both(purses.Collect(from_=who, asset=asset, amount=n), self.model.collection, who, asset, n)
        else:
            self.both(purses.Grant(to=who, asset=asset, amount=n), self.model.grant, who, asset, n)

    @rule(pair=PAIR, asset=ASSET, n=AMOUNT)
    def note(self, pair: tuple[str, str], asset: str, n: int) -> None:
        self.iou(*pair, asset, n)

    @rule(who=WHO, asset=ASSET, n=AMOUNT)
    def note_to_oneself(self, who: str, asset: str, n: int) -> None:
        self.iou(who, who, asset, n)

    def iou(self, debtor: str, creditor: str, asset: str, n: int) -> None:
        command = purses.IssueNote(debtor=debtor, creditor=creditor, asset=asset, amount=n)
        self.both(command, self.model.iou, debtor, creditor, asset, n)

    @rule(data=st.data(), debtor=WHO, creditor=WHO, asset=ASSET, n=AMOUNT)
    def settlement(self, data: st.DataObject, debtor: str, creditor: str, asset: str, n: int) -> None:
        debtor, creditor, asset = self.some_note(data, (debtor, creditor, asset))
        command = purses.Settle(debtor=debtor, creditor=creditor, asset=asset, amount=n)
        self.both(command, self.model.settlement, debtor, creditor, asset, n)

    @rule(data=st.data(), debtor=WHO, creditor=WHO, asset=ASSET, n=AMOUNT)
    def forgival(self, data: st.DataObject, debtor: str, creditor: str, asset: str, n: int) -> None:
        debtor, creditor, asset = self.some_note(data, (debtor, creditor, asset))
        command = purses.Forgive(debtor=debtor, creditor=creditor, asset=asset, amount=n)
        self.both(command, self.model.forgival, debtor, creditor, asset, n)

    @rule(data=st.data(), debtor=WHO, giver=WHO, taker=WHO, asset=ASSET, n=AMOUNT)
    def assignment(self, data: st.DataObject, debtor: str, giver: str, taker: str, asset: str, n: int) -> None:
        debtor, giver, asset = self.some_note(data, (debtor, giver, asset))
        command = purses.Assign(debtor=debtor, from_=giver, to=taker, asset=asset, amount=n)
        self.both(command, self.model.assignment, debtor, giver, taker, asset, n)

    def some_note(self, data: st.DataObject, otherwise: tuple[str, str, str]) -> tuple[str, str, str]:
        """Debtor, creditor and asset of a note that is there, more often than not."""
        there = [note[:3] for note in self.model.notes_in_purses()]
        return data.draw(st.sampled_from([*there, *there, otherwise])) if there else otherwise

    @rule(who=WHO, asset=st.sampled_from(TOKENS), limit=st.integers(0, 25))
    def limit(self, who: str, asset: str, limit: int) -> None:
        self.larp.do(purses.ChangeCharacter(who, purses.CharacterChanges(credit_limit={asset: limit})))
        self.model.limits[who, asset] = limit

    # ---- plans ----

    @rule()
    def make_a_plan(self) -> None:
        if made := self.planned():
            self.plans.append(made)

    @rule()
    def carry_a_new_plan_out(self) -> None:
        """It clears everything that lies in purses, if everybody can pay."""
        if (made := self.planned()) and self.carry_out(made):
            assert not list(self.model.notes_in_purses())

    @precondition(lambda self: self.plans)
    @rule(data=st.data())
    def carry_an_old_plan_out(self, data: st.DataObject) -> None:
        self.carry_out(data.draw(st.sampled_from(self.plans)))

    def planned(self) -> SettlePlan | None:
        owing = [Owing(*note) for note in self.model.notes_in_purses()]
        plans = simplified(owing)
        for made in plans:
            people = {who for debt in owing if debt.asset == made.asset for who in (debt.debtor, debt.creditor)}
            assert made.fewest and len(made.settlements) <= len(people) - 1
        settlements, circles = [s for p in plans for s in p.settlements], [c for p in plans for c in p.circles]
        return SettlePlan(plan=tuple(settlements), circles=tuple(circles)) if plans else None

    def carry_out(self, made: SettlePlan) -> bool:
        nets = self.nets()
        payments = [(line.debtor, line.creditor, line.asset, line.amount) for line in made.plan]
        notes = [
            (n.debtor, n.creditor, part.asset, n.amount) for part in (*made.plan, *made.circles) for n in part.cancels
        ]
        done = self.both(made, self.model.plan, payments, notes) is not None
        tokens = {key: net for key, net in nets.items() if key[1] != PROMISE}
        assert {key: net for key, net in self.nets().items() if key[1] != PROMISE} == tokens, "somebody gained"
        return done

    def nets(self) -> dict[tuple[str, str], int]:
        """What each would have if every note were paid."""
        found: dict[tuple[str, str], int] = {}
        for (account, what), n in self.larp.balances().items():
            kind, _, who = account.partition("/")
            if kind in ("purse", "debtor"):
                key = (who, what.rpartition("/")[2])
                found[key] = found.get(key, 0) + n
        return {key: net for key, net in found.items() if net}

    # ---- corrections ----

    @rule(data=st.data())
    def reversal(self, data: st.DataObject) -> None:
        """Of something that can be reversed, the youngest most often; at times of anything."""
        head = self.larp.book.position
        likely = sorted(self.model.moved)[-6:]
        position = data.draw(st.sampled_from([*likely, *likely, 1, head]))
        command = purses.Reverse(position=position, reason="a slip")
        if self.both(command, self.model.reversal, position):
            self.model.reversed.add(position)

    # ---- games on credit ----

    @rule(
        seats=st.lists(WHO, min_size=2, max_size=3, unique=True),
        asset=st.sampled_from(("krona", PROMISE)),
        n=st.integers(1, 6),
        credit=st.booleans(),
        turn_raise=st.integers(0, 2),
    )
    def open_a_table(self, seats: Sequence[str], asset: str, n: int, credit: bool, turn_raise: int) -> None:
        credit |= asset == PROMISE
        self.opened += 1
        table = Table(f"t{self.opened}", asset, n, seats, credit=credit, turn_raise=turn_raise)
        rules = Rules(starter=seats[0], turn_raise=turn_raise)
        command = OpenSkuggkast(table=table.name, seats=tuple(seats), stake=Sum(asset, n), credit=credit, rules=rules)
        if self.at_table(command, table, lambda: [move for seat in seats for move in self.model.stake(seat, table, n)]):
            self.model.tables[table.name] = table

    def at_table(self, command: LarpCommand, table: Table, moves: Callable[[], list[Move]]) -> bool:
        """Whatever goes into the pot is remembered by the table."""
        made: list[Move] = []

        def expected() -> list[Move]:
            made.extend(moves())
            return made

        done = self.both(command, expected) is not None
        if done:
            table.paid += [move for move in made if move[1] == table.pot]
        return done

    @precondition(lambda self: self.model.tables)
    @rule(data=st.data())
    def play_a_turn(self, data: st.DataObject) -> None:
        """A raise on credit, a claim that counts nothing, and nobody challenges: the turn passes."""
        table = self.model.tables[data.draw(st.sampled_from(sorted(self.model.tables)))]
        claim = Claim(seat=table.active, symbol="moon", number=1, shadow="neutral")
        cost = table.turn_raise
        if self.at_table(
            Act(table.name, claim), table, lambda: self.model.stake(table.active, table, cost) if cost else []
        ):
            assert self.act(table, Accept())
            table.active = table.next_seat(table.active, table.seats)

    @precondition(lambda self: self.model.tables)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """The last one left takes the pot, and with it notes of others; its own go home."""
        table = self.model.tables[data.draw(st.sampled_from(sorted(self.model.tables)))]
        who, before = data.draw(st.sampled_from(table.seats)), list(table.seats)
        table.seats.remove(who)
        last = table.seats[0] if len(table.seats) == 1 else None
        done = self.at_table(
            Act(table.name, Leave(seat=who)), table, lambda: self.model.won(last, table) if last else []
        )
        assert done
        if last:
            del self.model.tables[table.name]
        elif table.active == who:
            table.active = table.next_seat(who, before)

    def act(self, table: Table, action: Action) -> bool:
        return self.at_table(Act(table.name, action), table, list)

    @precondition(lambda self: self.model.tables)
    @rule(data=st.data())
    def void(self, data: st.DataObject) -> None:
        table = self.model.tables.pop(data.draw(st.sampled_from(sorted(self.model.tables))))
        assert self.at_table(Void(table.name, VoidTable(reason="rain")), table, table.given_back)

    # ---- what holds after each of them ----

    @invariant()
    def everything_adds_up(self) -> None:
        balances = self.larp.balances()
        assert balances == self.model.balances
        sums: dict[str, int] = {}
        for (account, asset), n in balances.items():
            sums[asset] = sums.get(asset, 0) + n
            assert n > 0 or may_go_below_zero(account)
            assert n < 0 or not account.startswith("debtor/"), "nobody owes less than nothing"
            assert not (account.startswith("purse/") and asset.startswith(f"iou/{account.partition('/')[2]}/"))
        assert not any(sums.values())

    @invariant()
    def what_is_owed_lies_somewhere(self) -> None:
        """The lots say the same as the balances, and each was issued by the event that it names."""
        moves, reverses = [], None
        for recorded in self.larp.journal:
            reverses = recorded.event.position if isinstance(recorded.event, purses.Reversed) else None
            moves += [
                NoteMove(recorded.position, p.asset, p.from_, p.to, p.amount, reverses)
                for p in recorded.postings
                if p.asset.startswith("iou/")
            ]
        lots = lying(moves)
        notes = {(asset, a): n for (a, asset), n in self.larp.balances().items() if asset.startswith("iou/") and n > 0}
        assert {key: sum(of_account.values()) for key, of_account in lots.items()} == notes
        for (asset, _), of_account in lots.items():
            for origin, amount in of_account.items():
                issued = [p.amount for p in self.larp.journal[origin - 1].postings if p.asset == asset]
                assert 0 < amount <= sum(issued)

    def teardown(self) -> None:
        if not hasattr(self, "larp"):
            return
        again = Book("test")
        for recorded in self.larp.journal:
            again.apply(READER.read(recorded.position, recorded.body, recorded.hash))
        assert dict(again.balances.items()) == self.larp.balances()
        assert again.hash == self.larp.book.hash


def test_no_order_of_debts_games_and_corrections_breaks_an_invariant() -> None:
    run_state_machine_as_test(Evening, settings=FEW)
