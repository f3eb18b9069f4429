"""Runs README's Python blocks and compares what they print: readme_python.py README PYTHON [all | PARTNER].

A block of ```python is run in the repository's root, all blocks as one program; a block of ``` right after "It prints:" is what the program printed
since the block before it. Blocks that import other packages are left out, and counted, unless "all" is given. With a PARTNER, which the program imports
first, there is that one package beside volley and those that it cannot do without: the others are not found, and blocks that import them are left out.
"""

import re
import subprocess
import sys

MARK = "\x1e"
OPTIONAL = {"pandas", "pyarrow", "polars", "numpy", "torch", "duckdb", "jax", "tensorflow", "nanoarrow", "narwhals", "numba"}
NEEDS = {"pandas": {"numpy", "pyarrow"}, "jax": {"numpy"}, "tensorflow": {"numpy"}, "numba": {"numpy"}}
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import {partner}
"""


def main() -> int:
    text = open(sys.argv[1], encoding="utf-8").read()
    blocks = re.findall(r"```python\n(.*?)```\n(?:\nIt prints:\n\n```\n(.*?)```)?", text, re.DOTALL)
    partner = sys.argv[3] if len(sys.argv) > 3 else ""
    hidden = set() if partner == "all" else OPTIONAL - {partner} - NEEDS.get(partner, set())
    alone = [(code, said) for code, said in blocks if not any(re.search(rf"^import {m}\b", code, re.MULTILINE) for m in hidden)]
    if not alone or not any(said for _, said in alone):
        print("README has no Python part that prints something", file=sys.stderr)
        return 1
    program = f'\nprint("{MARK}")\n'.join(code for code, _ in alone)
    if partner not in ("", "all"):
        program = HIDE.format(hidden=repr(hidden), partner=partner) + program
    ran = subprocess.run([sys.argv[2], "-I", "-c", program], capture_output=True, text=True, timeout=120)
    if ran.returncode != 0:
        print(ran.stdout + ran.stderr, file=sys.stderr)
        return 1
    for (code, said), printed in zip(alone, ran.stdout.split(MARK + "\n"), strict=True):
        if said and said.split() != printed.split():
            print(f"{code}\nprinted\n{printed}\nREADME has\n{said}", file=sys.stderr)
            return 1
    print(f"{partner or 'alone'}: {len(alone)} blocks ran, {len(blocks) - len(alone)} want other packages")
    return 0


sys.exit(main())
