"""Runs README's Python blocks and compares what they print: readme_python.py README PYTHON [all].

A block of ```python is run in the repository's root, all blocks as one program; a block of ``` right after "It prints:" is what the program printed
since the block before it. Blocks that import other packages are left out, and counted, unless "all" is given.
"""

import re
import subprocess
import sys

MARK = "\x1e"
OPTIONAL = ("pandas", "pyarrow", "polars", "numpy", "torch", "duckdb")


def main() -> int:
    text = open(sys.argv[1], encoding="utf-8").read()
    blocks = re.findall(r"```python\n(.*?)```\n(?:\nIt prints:\n\n```\n(.*?)```)?", text, re.DOTALL)
    every = sys.argv[3:] == ["all"]
    alone = [(code, said) for code, said in blocks if every or not any(re.search(rf"^import {m}\b", code, re.MULTILINE) for m in OPTIONAL)]
    if not alone or not any(said for _, said in alone):
        print("README has no Python part that prints something", file=sys.stderr)
        return 1
    program = f'\nprint("{MARK}")\n'.join(code for code, _ in alone)
    ran = subprocess.run([sys.argv[2], "-I", "-c", program], capture_output=True, text=True, timeout=120)
    if ran.returncode != 0:
        print(ran.stdout + ran.stderr, file=sys.stderr)
        return 1
    for (code, said), printed in zip(alone, ran.stdout.split(MARK + "\n"), strict=True):
        if said and said.split() != printed.split():
            print(f"{code}\nprinted\n{printed}\nREADME has\n{said}", file=sys.stderr)
            return 1
    print(f"{len(alone)} blocks ran, {len(blocks) - len(alone)} want other packages")
    return 0


sys.exit(main())
