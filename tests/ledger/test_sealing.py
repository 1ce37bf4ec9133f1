"""Commitments bind and hide; dice are fair and cannot be foreseen without their entropy."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.messages import Uncovered
from ledger.sealing import Chance, commitment, holds, uncover

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(JSON, st.binary(min_size=32, max_size=32))
def test_what_is_sealed_can_be_checked_when_uncovered(value: object, entropy: bytes) -> None:
    sealed, secret = Chance(entropy).seal("t1", "alva", "cup", value)
    assert holds(uncover(secret))
    assert sealed.commitment == secret.commitment
    assert not holds(Uncovered(secret.commitment, secret.nonce, [value]))
    assert not holds(Uncovered(secret.commitment, "00" * 32, value))


def test_a_commitment_is_what_the_rules_say() -> None:
    """SHA-256 over 32 bytes of nonce and the value as RFC 8785 canonical JSON (keys sorted, no white space)."""
    import hashlib

    value = {"symbol": "star", "number": 5, "shadow": "neutral"}
    text = b'{"number":5,"shadow":"neutral","symbol":"star"}'
    assert commitment(bytes(32), value) == hashlib.sha256(bytes(32) + text).hexdigest()


def test_the_same_value_never_has_the_same_commitment() -> None:
    chance = Chance(bytes(32))
    assert len({chance.seal("t1", None, "tile", "blank")[0].commitment for _ in range(64)}) == 64


def test_the_same_entropy_gives_the_same_dice_and_another_others() -> None:
    def draws(entropy: bytes) -> list[int]:
        chance = Chance(entropy)
        return [chance.die() for _ in range(50)]

    assert draws(bytes(32)) == draws(bytes(32))
    assert draws(bytes(32)) != draws(b"\1" + bytes(31))


@pytest.mark.parametrize("sides", [2, 3, 6, 7, 64])
def test_no_side_is_favoured(sides: int) -> None:
    """Chi squared stays below what a bent die would give; the entropy is fixed, so it is no luck."""
    chance, throws = Chance(bytes(32)), 200 * sides
    seen = Counter(chance.die(sides) for _ in range(throws))
    assert set(seen) == set(range(1, sides + 1))
    chi_squared = sum((seen[side] - 200) ** 2 / 200 for side in range(1, sides + 1))
    assert chi_squared < sides + 4 * (2 * sides) ** 0.5


def test_a_shuffle_keeps_everything() -> None:
    tiles = ["blank"] * 60 + ["sok"] * 4
    shuffled = Chance(bytes(32)).shuffle(tiles)
    assert sorted(shuffled) == sorted(tiles)
    assert shuffled != tiles


def test_too_little_entropy_is_refused() -> None:
    with pytest.raises(ValueError, match="32"):
        Chance(bytes(16))
