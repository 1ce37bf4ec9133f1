"""A journal for hledger and beancount: their words for our accounts, assets and notes, and their syntax.

Both accept every name that a LARP can use, and give different names to different things.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

from ledger.messages import Posting
from ledger.recorded import Envelope


class _Reason(Struct, frozen=True):
    """What people wrote about an event."""

    memo: str | None = None
    reason: str | None = None


_reasons = msgspec.json.Decoder(_Reason)


def _written(said: Envelope[Raw]) -> str:
    """The memo or reason on one line, empty if there is none."""
    found = _reasons.decode(said.data)
    return " ".join((found.memo or found.reason or "").split())


class Hledger:
    """Accounts keep their names, with `:` for `/`; assets stand in quotation marks, notes as "iou/DEBTOR/ASSET"."""

    def __init__(self) -> None:
        self._accounts: set[str] = set()
        self._assets: set[str] = set()

    def begin(self, larp: str, position: int, hash_: str) -> str:
        return f"; Skuggbok: {larp}, {position} events, the last with hash {hash_}\n"

    @staticmethod
    def account(account: str) -> str:
        return account.replace("/", ":")

    @staticmethod
    def commodity(asset: str) -> str:
        return f'"{asset}"'

    def transaction(self, position: int, said: Envelope[Raw]) -> str:
        """The event, behind whatever it names first; nothing for an event that moves nothing."""
        if not said.postings:
            return ""
        written = _written(said).replace(";", ",").replace("|", "/")
        title = f"{said.recorded_at:%Y-%m-%d} ({position}) {said.type}{f' | {written}' if written else ''}"
        tags = f"at:{said.at.isoformat()}{f', table:{said.table}' if said.table else ''}"
        lines = ["", *self._declared(said.postings), f"{title}  ; {tags}"]
        for posting in said.postings:
            asset = self.commodity(posting.asset)
            lines.append(f"    {self.account(posting.to)}  {posting.amount} {asset}")
            lines.append(f"    {self.account(posting.from_)}  -{posting.amount} {asset}")
        return "\n".join(lines) + "\n"

    def _declared(self, postings: Iterable[Posting]) -> Iterable[str]:
        for posting in postings:
            for account in (posting.from_, posting.to):
                if account not in self._accounts:
                    self._accounts.add(account)
                    yield f"account {self.account(account)}"
            if posting.asset not in self._assets:
                self._assets.add(posting.asset)
                yield f"commodity {self.commodity(posting.asset)}"


_ROOTS = {
    "purse": "Assets:Purse",
    "pot": "Assets:Pot",
    "seat": "Assets:Seat",
    "middle": "Assets:Middle",
    "burnt": "Assets:Burnt",
    "mint": "Equity:Mint",
    "debtor": "Liabilities:Debtor",
}
_WORDS = ("TRUE", "FALSE", "NULL")
"""Which beancount takes for something else, as it does with single letters."""


class Beancount:
    """`purse/old_tom` is Assets:Purse:OldUtom, `krona` is KRONA, `iou/alva/krona` is IOU.ALVA.KRONA.

    Slugs have no capitals, so that U can stand for what an account cannot have (_), and X' and 'X for what an asset
    must begin and end with. What was called how stands as metadata at `open` and `commodity`.
    """

    def __init__(self) -> None:
        self._accounts: set[str] = set()
        self._assets: set[str] = set()

    def begin(self, larp: str, position: int, hash_: str) -> str:
        return f'; Skuggbok: {larp}, {position} events, the last with hash {hash_}\noption "title" "{larp}"\n'

    @staticmethod
    def account(account: str) -> str:
        kind, *names = account.split("/")
        return ":".join([_ROOTS[kind], *(name[:1].upper() + name[1:].replace("_", "U") for name in names)])

    @staticmethod
    def commodity(asset: str) -> str:
        name = asset.upper().replace("/", ".")
        if not name[0].isalpha() or len(name) == 1 or name in _WORDS:
            name = f"X'{name}"
        return name if name[-1].isalnum() else f"{name}'X"

    def transaction(self, position: int, said: Envelope[Raw]) -> str:
        """The event, behind whatever it names first; nothing for an event that moves nothing."""
        if not said.postings:
            return ""
        date = f"{said.recorded_at:%Y-%m-%d}"
        lines = ["", *self._declared(date, said.postings), f"{date} * {_string(said.type)} {_string(_written(said))}"]
        lines += [f"  position: {position}", f"  at: {_string(said.at.isoformat())}"]
        if said.table:
            lines.append(f"  table: {_string(said.table)}")
        for posting in said.postings:
            asset = self.commodity(posting.asset)
            lines.append(f"  {self.account(posting.to)}  {posting.amount} {asset}")
            lines.append(f"  {self.account(posting.from_)}  -{posting.amount} {asset}")
        return "\n".join(lines) + "\n"

    def _declared(self, date: str, postings: Iterable[Posting]) -> Iterable[str]:
        for posting in postings:
            for account in (posting.from_, posting.to):
                if account not in self._accounts:
                    self._accounts.add(account)
                    yield f'{date} open {self.account(account)}\n  account: "{account}"'
            if posting.asset not in self._assets:
                self._assets.add(posting.asset)
                yield f'{date} commodity {self.commodity(posting.asset)}\n  asset: "{posting.asset}"'


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
