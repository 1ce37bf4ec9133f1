#!/usr/bin/env python3
"""Checks a journal that Skuggbok exported, trusting nothing of Skuggbok: read this file, it is all there is.

    python3 verify_journal.py journal.ndjson [--checkpoint NOTE --key VERIFIER_KEY] [--proof PROOF.json]

It needs Python 3.9 or newer and nothing else; a checkpoint's signature is checked if the package `cryptography` is
installed. Status 0: all is well. Status 1: something is not, and is named with its position.

What is checked:
  chain        hash = SHA-256 over format, LARP, position, previous hash and body, each behind its length (8 bytes)
  positions    1, 2, 3, ... up to the head that the first line names
  money        for each asset all accounts add up to 0; none but the mint and debtors is ever below 0
  commitments  every uncovered value is the one that was sealed: SHA-256 over nonce and value as canonical JSON
  checkpoint   the Merkle root (RFC 6962) over the event hashes, and the last hash, are those that were signed
  proof        the answer of .../events/{position}/proof: one event is among those of its checkpoint
"""

import argparse
import base64
import hashlib
import json
import sys

SAFE = 2**53 - 1


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


class Journal:
    """Reads line by line; `faults` are (check, position, what is wrong)."""

    def __init__(self, larp):
        self.larp, self.faults = larp, []
        self.position, self.hash = 0, bytes(32)
        self.balances, self.sealed = {}, {}
        self.peaks, self.roots = [], {}  # of the Merkle tree: its complete subtrees, the root after some sizes

    def fault(self, check, what):
        self.faults.append((check, self.position, what))

    def see(self, line, wanted_roots):
        self.position += 1
        head, tail = b'{"position":%d,' % self.position, b',"hash":"'
        inner, found, rest = line.rstrip(b"\r\n").rpartition(tail)
        if not found or not inner.startswith(head) or rest[64:] != b'"}':
            self.fault("positions", "this line is not the event at this position, between position and hash")
            return self.grow(bytes(32), ())
        body = b"{" + inner[len(head) :] + b"}"  # exactly the bytes that were stored and hashed
        fields = (b"skuggbok.event.v1", self.larp.encode(), b"%d" % self.position, self.hash, body)
        expected = sha256(*(len(field).to_bytes(8, "big") + field for field in fields))
        if expected.hex().encode() != rest[:64]:
            self.fault("chain", "the hash is not that of this event in this place")
        try:
            self.hash = bytes.fromhex(rest[:64].decode())
            event = json.loads(body)
            self.money(event["postings"])
            self.commitments(event["data"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.fault("event", f"the event cannot be read: {error!r}")
        self.grow(self.hash, wanted_roots)

    def money(self, postings):
        for posting in postings:
            asset, amount = posting["asset"], posting["amount"]
            if type(amount) is not int or not 1 <= amount <= SAFE:
                self.fault("money", f"a posting moves {amount!r} {asset}")
                continue
            for account, change in ((posting["from"], -amount), (posting["to"], amount)):
                balance = self.balances[account, asset] = self.balances.get((account, asset), 0) + change
                below_zero_is_fine = account == "mint" or account.startswith("debtor/")
                if (balance < 0 and not below_zero_is_fine) or abs(balance) > SAFE:
                    self.fault("money", f"{account} has {balance} {asset}")

    def commitments(self, data):
        for sealed in data.get("sealed") or ():
            self.sealed[sealed["commitment"]] = self.position
        for shown in data.get("uncovered") or ():
            if not isinstance(shown, dict) or "nonce" not in shown:
                continue
            if self.sealed.pop(shown["commitment"], None) is None:
                self.fault("commitments", "a value is uncovered that was never sealed")
            elif sha256(bytes.fromhex(shown["nonce"]), canonical(shown["value"])).hex() != shown["commitment"]:
                self.fault("commitments", "an uncovered value is not the one that was sealed")

    def grow(self, hash_, wanted_roots):
        node, index = sha256(b"\x00", hash_), self.position - 1
        while index & 1:
            node, index = sha256(b"\x01", self.peaks.pop(), node), index >> 1
        self.peaks.append(node)
        if self.position in wanted_roots:
            self.roots[self.position] = (self.root(), hash_)

    def root(self):
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = sha256(b"\x01", peak, root)
        return root

    def end(self, header):
        if (header["position"], header["hash"]) != (self.position, self.hash.hex()):
            self.fault("chain", f"the first line says {header['position']} events up to {header['hash']}")
        sums = {}
        for (_, asset), balance in self.balances.items():
            sums[asset] = sums.get(asset, 0) + balance
        for asset, total in sums.items():
            if total:
                self.fault("money", f"all {asset} add up to {total}, not to 0")


def canonical(value):
    """RFC 8785 for what Skuggbok seals: no fractions, keys in the order of their UTF-16 units."""
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
        return b"{" + b",".join(canonical(k) + b":" + canonical(v) for k, v in pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    if isinstance(value, float):
        raise ValueError("a sealed value holds a fraction")
    return json.dumps(value, ensure_ascii=False).encode()


# ---- checkpoints (https://c2sp.org/tlog-checkpoint) and proofs (RFC 6962, checked as in RFC 9162) ----


def read_checkpoint(note, key):
    """Origin, size, root and head of a signed note. Raises ValueError; tells if the signature was not checked."""
    text, _, signatures = note.rpartition("\n\n")
    origin, size, root, head = text.split("\n")
    if not head.startswith("head "):
        raise ValueError("the checkpoint has no line with the journal's head")
    if key is None:
        print("the checkpoint's signature was not checked: say --key VERIFIER_KEY")
    else:
        check_signature(text + "\n", signatures, key)
    return origin, int(size), base64.b64decode(root), bytes.fromhex(head[5:])


def check_signature(text, signatures, key):
    name, key_id, encoded = key.split("+", 2)
    public = base64.b64decode(encoded)
    if public[:1] != b"\x01" or sha256(name.encode(), b"\n", public)[:4].hex() != key_id:
        raise ValueError("this is no verifier key of the form NAME+KEYID+KEY")
    for line in signatures.splitlines():
        dash, signer, blob = line.split(" ")
        signature = base64.b64decode(blob)
        if (dash, signer, signature[:4].hex()) == ("—", name, key_id):
            try:
                from cryptography.exceptions import InvalidSignature
                from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
            except ImportError:
                print("the checkpoint's signature was not checked: the package cryptography is missing")
                return
            try:
                Ed25519PublicKey.from_public_bytes(public[1:]).verify(signature[4:], text.encode())
            except InvalidSignature:
                raise ValueError("the signature is not one of this checkpoint") from None
            return
    raise ValueError(f"the checkpoint is not signed by {name}")


def climb(at, last, start, hashes):
    """Two paths to the root: with all that is left and right of the leaf, and with what is left of it only."""
    left = both = start
    for other in hashes:
        if last == 0:
            raise ValueError("the proof is longer than the tree is high")
        if at & 1 or at == last:
            left, both = sha256(b"\x01", other, left), sha256(b"\x01", other, both)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            both = sha256(b"\x01", both, other)
        at, last = at >> 1, last >> 1
    if last:
        raise ValueError("the proof is shorter than the tree is high")
    return left, both


def check_proof(proof, size, root):
    """Raises ValueError unless the event, and the earlier tree if there is one, are part of this one."""
    index, hashes = proof["position"] - 1, [base64.b64decode(hash_) for hash_ in proof["inclusion"]]
    if not 0 <= index < size:
        raise ValueError("the proof is of an event that the checkpoint does not have")
    if climb(index, size - 1, sha256(b"\x00", bytes.fromhex(proof["hash"])), hashes)[1] != root:
        raise ValueError("the event is not one of those of the checkpoint")
    earlier = proof.get("consistency")
    if earlier is None:
        return
    old, old_root = earlier["from"], base64.b64decode(earlier["root"])
    hashes = [base64.b64decode(hash_) for hash_ in earlier["hashes"]]
    if not 1 <= old <= size or (old == size and (old_root != root or hashes)):
        raise ValueError("the earlier tree is not the beginning of this one")
    if old < size:
        at, last = old - 1, size - 1
        while at & 1:
            at, last = at >> 1, last >> 1
        start, *rest = hashes if old & (old - 1) else [old_root, *hashes]
        if climb(at, last, start, rest) != (old_root, root):
            raise ValueError("the earlier tree is not the beginning of this one")


def main(arguments=None):
    options = argparse.ArgumentParser(description="Checks a journal that Skuggbok exported.")
    options.add_argument("journal", help="journal.ndjson, or - for standard input")
    options.add_argument("--checkpoint", help="file with a checkpoint's note")
    options.add_argument("--key", help="verifier key of the checkpoint")
    options.add_argument("--proof", help="file with a proof, as the API answers it")
    given = options.parse_args(arguments)
    faults, checkpoints, proof = [], [], None
    try:
        if given.checkpoint:
            with open(given.checkpoint, encoding="utf-8", newline="\n") as file:
                checkpoints.append(read_checkpoint(file.read(), given.key))
        if given.proof:
            with open(given.proof, encoding="utf-8") as file:
                proof = json.load(file)
            checkpoints.append(read_checkpoint(proof["checkpoint"], given.key))
            check_proof(proof, *checkpoints[-1][1:3])
    except (ValueError, KeyError, TypeError) as error:
        faults.append(("checkpoint", 0, str(error)))
    with open(given.journal, "rb") if given.journal != "-" else sys.stdin.buffer as lines:
        try:
            header = json.loads(lines.readline())
            journal = Journal(header["larp"])
            if header["format"] != "skuggbok.journal.v1":
                raise ValueError(header["format"])
        except (ValueError, KeyError, TypeError):
            print("position 0: the first line is not that of a journal.ndjson of Skuggbok")
            return 1
        for line in lines:
            journal.see(line, {size for _, size, _, _ in checkpoints})
        journal.end(header)
    for origin, size, root, head in checkpoints:
        if not origin.endswith("/" + journal.larp) or journal.roots.get(size) != (root, head):
            journal.fault("checkpoint", f"the journal is not the one whose {size} events were signed as {origin}")
    faults += journal.faults
    for check, position, what in faults[:100]:
        print(f"position {position}: {what} ({check})")
    print(f"{journal.larp}: {'DAMAGED' if faults else 'all is well'}, {journal.position} events")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
