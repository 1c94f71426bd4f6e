"""``python -m niulab`` is the program ``niulab``."""

from __future__ import annotations

from niulab.cli.main import main

main()
