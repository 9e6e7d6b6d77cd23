"""Checks a whole export of the audit log with nothing but Python's standard library (docs/verify-an-export.md).

    python3 verify_export.py EXPORT VKEY

A second opinion, written from the specifications: it builds the root of every checkpoint in the export from its events, and
checks each signature. It does not say what kind of change it found: `holdpoint audit verify` does.
"""

import base64
import hashlib
import json
import sys

# Ed25519 (RFC 8032), as plain as possible; it verifies only, so nothing here is secret.
P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    e, f = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    g, h = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    result = (0, 1, 1, 0)
    while n > 0:
        if n & 1:
            result = add(result, point)
        point, n = add(point, point), n >> 1
    return result


def point_of(encoded):
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("no point of the curve")
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(key, message, signature):
    """Whether the 64 bytes are a signature of the message by the key of 32 bytes."""
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= Q:
        return False
    try:
        r, a = point_of(signature[:32]), point_of(key)
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % Q
    (x1, y1, z1, _), (x2, y2, z2, _) = times(s, BASE), add(r, times(h, a))
    return (x1 * z2 - x2 * z1) % P == 0 and (y1 * z2 - y2 * z1) % P == 0


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def leaf_of(event):
    """RFC 9162, 2.1: of the subject with its length before it, and the body."""
    subject = event["subject"].encode()
    body = event["body"].encode() if "body" in event else base64.b64decode(event["bodyBase64"])
    return sha256(b"\0", len(subject).to_bytes(4, "big"), subject, body)


class Tree:
    """The complete subtrees that a growing tree consists of, the largest first."""

    def __init__(self):
        self.size, self.subtrees = 0, []

    def append(self, leaf):
        self.size += 1
        self.subtrees.append(leaf)
        n = self.size
        while n % 2 == 0:
            right, left = self.subtrees.pop(), self.subtrees.pop()
            self.subtrees.append(sha256(b"\1", left, right))
            n //= 2

    def root(self):
        root = None
        for subtree in reversed(self.subtrees):
            root = subtree if root is None else sha256(b"\1", subtree, root)
        return root if root is not None else sha256()


def parse_key(vkey):
    name, key_id, encoded = vkey.split("+", 2)
    key = base64.b64decode(encoded)
    if key[0] != 1 or sha256(name.encode(), b"\n", key)[:4].hex() != key_id:
        raise ValueError("the key was copied wrongly")
    return (name, key_id), key[1:]


def lines_of_note(note, keys):
    """The lines of a signed note (c2sp.org/signed-note). A known key whose signature is wrong, or none that is known, is an error."""
    text, _, signatures = note.rpartition("\n\n")
    text, good = text + "\n", False
    for line in signatures.splitlines():
        _, name, blob = line.split(" ")
        blob = base64.b64decode(blob, validate=True)
        key = keys.get((name, blob[:4].hex()))
        if key is not None:
            if not is_signed(key, text.encode(), blob[4:]):
                raise ValueError("a signature is wrong")
            good = True
    if not good:
        raise ValueError("it is signed by no key that is known")
    return text.splitlines()


def check(path, vkey):
    keys = dict([parse_key(vkey)])
    tree, roots, checkpoints, header, end = Tree(), {}, [], None, None
    with open(path, encoding="utf-8", newline="\n") as export:
        for number, text in enumerate(export, 1):
            line = json.loads(text)
            if end is not None or (number == 1) != (line["kind"] == "holdpoint-export"):
                raise ValueError(f"line {number} does not belong there")
            if line["kind"] == "holdpoint-export":
                header = line
                if header["filter"] is not None:
                    raise ValueError("this is a part of the log; here only whole exports are checked")
            elif line["kind"] == "key":
                origin, word, successor, _ = lines_of_note(line["note"], keys)
                if (origin, word) == (header["origin"], "key"):
                    keys.update([parse_key(successor)])
            elif line["kind"] == "event":
                if (line["index"], line["seq"]) != (tree.size, header["first"] + tree.size):
                    raise ValueError(f"line {number}: event {tree.size} is missing or was moved")
                tree.append(leaf_of(line))
                roots[tree.size] = tree.root()
            elif line["kind"] == "checkpoint":
                origin, size, root, first = lines_of_note(line["note"], keys)
                checkpoints.append(int(size))
                if (origin, first) != (header["origin"], f"first {header['first']}"):
                    raise ValueError(f"line {number}: the checkpoint is of another log")
                if roots.get(int(size)) != base64.b64decode(root):
                    raise ValueError(f"line {number}: the events are not those that were signed at size {size}")
            elif line["kind"] == "end":
                end = line
    if end is None or not checkpoints or checkpoints[-1] != tree.size:
        raise ValueError("the export was cut off")
    return f"{tree.size} events, {len(checkpoints)} checkpoints, root {base64.b64encode(tree.root()).decode()}"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print("CLEAN:", check(sys.argv[1], sys.argv[2]))
    except (ValueError, KeyError, OSError) as error:
        # of an error from a stranger's file nothing but plain characters
        sys.exit("FOUND: " + ascii(str(error)))
