"""What makes a task worth solving, and the pages that print its figures."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs" / "environments"
WORTH = 0.1
"""The least share of the range from uniform play to the optimum that simple play leaves."""


def published(page, *numbers):
    text = (DOCS / page).read_text(encoding="utf-8")
    missing = [number for number in numbers if number not in text]
    assert missing == [], f"{page} does not give {missing}"
