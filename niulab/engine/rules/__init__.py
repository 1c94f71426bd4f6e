"""Rules as data: the schema, the shipped variants and how they are found."""

from niulab.engine.rules.catalog import (
    DEFAULT_RULES,
    check_rules,
    load_rules,
    parse_rules,
    read_rules,
    shipped_names,
)
from niulab.engine.rules.changes import changes_of, difference
from niulab.engine.rules.model import (
    PLAIN_RANKS,
    Award,
    Base,
    Box,
    Commission,
    Cover,
    Deck,
    Order,
    RuleSet,
    Special,
    Table,
)

__all__ = [
    "DEFAULT_RULES",
    "PLAIN_RANKS",
    "Award",
    "Base",
    "Box",
    "Commission",
    "Cover",
    "Deck",
    "Order",
    "RuleSet",
    "Special",
    "Table",
    "changes_of",
    "check_rules",
    "difference",
    "load_rules",
    "parse_rules",
    "read_rules",
    "shipped_names",
]
