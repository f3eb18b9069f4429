"""A program that is given as text: what torchrun starts in the tests."""

import os

exec(compile(os.environ["RUN_TEXT"], "run_text", "exec"))
