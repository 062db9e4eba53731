#!/usr/bin/env python3
"""Print a Delta table's rows as sorted JSON lines, read with the deltalake package.

    python3 check.py TABLE [--venv DIR] [--like FILE]

The lines are those of table.ReadRows, so the two can be compared; --like does
so, with a file of such lines in any order, and fails on a difference.

The first run makes a virtual environment and installs deltalake and pyarrow
from PyPI into it; later runs need no network.
"""

import argparse
import base64
import collections
import json
import math
import os
import struct
import subprocess
import sys

REQUIREMENTS = ["deltalake>=1.0,<2", "pyarrow>=16"]
OLDEST = (3, 9)


def fail(message):
    sys.exit("interop: " + message)


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="the table's folder")
    parser.add_argument("--venv", default=os.path.join(here, ".venv"), help="where the packages go (default: %(default)s)")
    parser.add_argument("--like", metavar="FILE", help="compare with these JSON lines instead of printing")
    return parser.parse_args()


def enter_venv(venv):
    """Start over inside the virtual environment, which is made if there is none."""
    python = os.path.join(venv, "bin", "python")
    ready = os.path.join(venv, ".ready")
    wanted = "\n".join(REQUIREMENTS) + "\n"
    if not (os.path.exists(ready) and open(ready).read() == wanted):
        print("interop: installing %s into %s" % (", ".join(REQUIREMENTS), venv), file=sys.stderr)
        run([sys.executable, "-m", "venv", "--clear", venv],
            "cannot make a virtual environment (on Debian: apt-get install python3-venv)")
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"] + REQUIREMENTS,
            "cannot install " + ", ".join(REQUIREMENTS) + " (is PyPI reachable?)")
        with open(ready, "w") as f:
            f.write(wanted)
    os.execv(python, [python, os.path.abspath(__file__)] + sys.argv[1:])


def run(command, problem):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail("%s:\n%s" % (problem, done.stdout.strip()))


def number(value, bits):
    """A float as Go's encoding/json writes it; what JSON has no number for is a string."""
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    mantissa, exponent = shortest(value, bits).split("e")
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "").rstrip("0") or "0"
    exponent = int(exponent)
    if value != 0 and not -6 <= exponent < 21:
        fraction = "." + digits[1:] if digits[1:] else ""
        return sign + digits[0] + fraction + ("e+%02d" if exponent > 0 else "e%d") % exponent
    if exponent < 0:
        return sign + "0." + "0" * (-exponent - 1) + digits
    whole = digits[:exponent + 1].ljust(exponent + 1, "0")
    return sign + whole + ("." + digits[exponent + 1:] if digits[exponent + 1:] else "")


def shortest(value, bits):
    """The fewest digits that give the value back, as 'd.ddde+xx'."""
    if bits == 64:
        same = lambda text: float(text) == value
    else:
        same = lambda text: struct.pack("f", float(text)) == struct.pack("f", value)
    for digits in range(0, 17):
        text = "%.*e" % (digits, value)
        try:
            if same(text):
                return text
        except OverflowError:  # rounded up beyond the greatest float32
            pass
    return "%.17e" % value


def text(value, kind):
    """A value of an Arrow type as JSON."""
    import pyarrow.types as types
    if value is None:
        return "null"
    if types.is_struct(kind):
        return "{" + ",".join(quote(f.name) + ":" + text(value[f.name], f.type) for f in kind) + "}"
    if types.is_list(kind) or types.is_large_list(kind):
        return "[" + ",".join(text(v, kind.value_type) for v in value) + "]"
    if types.is_float32(kind) or types.is_float64(kind):
        return number(value, kind.bit_width)
    if types.is_timestamp(kind):
        return instant(value)
    if types.is_decimal(kind):
        return format(value, "f")
    if isinstance(value, bytes):
        return '"' + base64.b64encode(value).decode() + '"'
    return json.dumps(value) if isinstance(value, (bool, int)) else quote(value)


def quote(value):
    """A string as Go's encoding/json writes it, without HTML escapes."""
    quoted = json.dumps(value, ensure_ascii=False)
    return quoted.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def instant(value):
    whole = "%04d-%02d-%02dT%02d:%02d:%02d" % value.utctimetuple()[:6]
    fraction = ("%06d" % value.microsecond).rstrip("0")
    return '"' + whole + ("." + fraction if fraction else "") + 'Z"'


def rows(path):
    from deltalake import DeltaTable
    table = DeltaTable(path).to_pyarrow_table()
    for batch in table.to_batches():
        columns = [(f.name, f.type, batch.column(i)) for i, f in enumerate(batch.schema)]
        for i in range(batch.num_rows):
            yield "{" + ",".join(quote(n) + ":" + text(c[i].as_py(), t) for n, t, c in columns) + "}"


def compare(have, path):
    with open(path, encoding="utf-8") as f:
        want = collections.Counter(line.rstrip("\n") for line in f if line.strip())
    have = collections.Counter(have)
    if have == want:
        print("interop: %d rows are the same" % sum(have.values()))
        return
    for line in sorted((want - have).elements()):
        print("only in %s: %s" % (path, line))
    for line in sorted((have - want).elements()):
        print("only in deltalake: " + line)
    fail("the rows differ")


def main():
    if sys.version_info < OLDEST:
        fail("python %d.%d is too old for deltalake; %d.%d is the oldest that works" % (sys.version_info[:2] + OLDEST))
    args = arguments()
    if not os.path.isdir(os.path.join(args.table, "_delta_log")):
        fail("there is no table in " + args.table)
    if os.path.realpath(sys.prefix) != os.path.realpath(args.venv):
        enter_venv(args.venv)
    lines = sorted(rows(args.table))
    if args.like:
        compare(lines, args.like)
    else:
        sys.stdout.reconfigure(encoding="utf-8")
        for line in lines:
            print(line)
    # The packages' own threads may abort an ordinary exit after all is done.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
