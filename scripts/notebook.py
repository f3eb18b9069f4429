"""Makes a notebook of a program with "# %%" before each cell of code and comments as texts: notebook.py PROGRAM NOTEBOOK. With --check it only compares."""

import json
import re
import sys


def cells(program: str) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for part in re.split(r"(?m)^# %%\n", program):
        code = re.split(r"(?m)\n\n(?=# [A-Z])", part.rstrip("\n")) if made else ["", part.rstrip("\n")]
        if code[0]:
            made.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code[0].strip("\n").splitlines(keepends=True)})
        for text in code[1:]:
            lines = [re.sub(r"^# ?", "", line) for line in text.splitlines(keepends=True)]
            made.append({"cell_type": "markdown", "metadata": {}, "source": lines})
    for i, cell in enumerate(made):
        cell["id"] = f"cell-{i}"
    return made


def main() -> int:
    check = "--check" in sys.argv
    program, notebook = [a for a in sys.argv[1:] if a != "--check"]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    with open(program, encoding="utf-8") as f:
        made = json.dumps({"cells": cells(f.read()), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"
    if check:
        with open(notebook, encoding="utf-8") as f:
            if f.read() != made:
                print(f"{notebook} is not what scripts/notebook.py makes of {program}", file=sys.stderr)
                return 1
        return 0
    with open(notebook, "w", encoding="utf-8") as f:
        f.write(made)
    return 0


sys.exit(main())
