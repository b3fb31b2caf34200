"""`python -m termwise` is the command `termwise`."""

from __future__ import annotations

from termwise.cli.main import main

if __name__ == "__main__":
    main()
