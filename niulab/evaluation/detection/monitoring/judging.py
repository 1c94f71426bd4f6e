"""A log judged: verdicts on players and groups, tables, audits, and how good the data are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from niulab.engine.rules.toml import parse_toml, read_text
from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.groups import Group, group_plays, group_portfolio
from niulab.evaluation.detection.excess import excess_interval
from niulab.evaluation.detection.fold import log_e_values
from niulab.evaluation.detection.lists import e_bh
from niulab.evaluation.detection.monitoring.audits import RECORDED, Audits
from niulab.evaluation.detection.monitoring.folding import fold_people
from niulab.evaluation.detection.monitoring.holding import held_back
from niulab.evaluation.detection.monitoring.monitor import Monitored
from niulab.evaluation.detection.monitoring.people import People
from niulab.evaluation.detection.tables.settings import helpful_errors
from niulab.evaluation.detection.tables.twice import held_twice
from niulab.evaluation.detection.tables.voids import player_voids
from niulab.evaluation.detection.verdict import Verdict, e_value_of, judge, verify_levels
from niulab.evaluation.playlog.plays import NO_TIME, Flag, Plays
from niulab.evaluation.playlog.store.loading import player_plays, scan_buckets
from niulab.evaluation.playlog.store.stats import iso_text, missing_rounds
from niulab.evaluation.playlog.vocabulary import Lexicon

__all__ = ["Judged", "judge_log", "read_groups"]

_MOST_WRONG_SETTINGS = 0.02
_MOST_VOIDS = 0.01
_MOST_DOUBLED = 0.01
_MOST_GAPS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """Verdicts, the largest e-value first, and everything that ``--json`` prints beside them.

    groups: names of the verdicts that are of declared groups.
    """

    monitored: Monitored
    verdicts: list[Verdict]
    groups: tuple[str, ...]
    tables: list[dict[str, Any]]
    audit: dict[str, list[dict[str, Any]]]
    data_quality: dict[str, Any]
    alpha: float
    fdr: float

    def as_dict(self) -> dict[str, Any]:
        """The document of ``niulab detect --json``."""
        return {
            "players": [verdict.as_dict() for verdict in self.verdicts],
            "tables": self.tables,
            "audit": self.audit,
            "data_quality": self.data_quality,
            "alpha": self.alpha,
            "fdr": self.fdr,
        }


def read_groups(path: Path) -> list[Group]:
    """Declared groups from a TOML file of tables [[groups]]; raises ConfigError for mistakes."""
    try:
        tree = parse_toml(read_text(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot read the groups in '{path}': {reason}; {_GROUPS_HINT}") from None
    groups = []
    entries = tree.get("groups")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            raise ConfigError(f"'{path}' holds a group that is none ({entry}): {_GROUPS_HINT}")
        name, members = (entry.get(key) for key in ("name", "members"))
        peeker = entry.get("peeker")
        is_list = isinstance(members, list) and all(isinstance(m, str) for m in members)
        if not isinstance(name, str) or not is_list or not isinstance(peeker, str | None):
            raise ConfigError(f"'{path}' holds a group that is none ({entry}): {_GROUPS_HINT}")
        if unknown := set(entry) - {"name", "members", "peeker"}:
            raise ConfigError(f"'{path}': no key {sorted(unknown)} in a group: {_GROUPS_HINT}")
        groups.append(Group(name, tuple(map(str, members or ())), peeker))
    if not groups or set(tree) != {"groups"}:
        raise ConfigError(f"'{path}' holds no groups, or other keys than 'groups': {_GROUPS_HINT}")
    return groups


_GROUPS_HINT = (
    'write [[groups]] with name = "A", members = ["p1", "p2"] and, if one is known, peeker = "p2"'
)


def judge_log(monitored: Monitored, *, fdr: float = 0.05, groups: Sequence[Group] = ()) -> Judged:
    """Verdicts on everybody in a state, and the audits of the whole log.

    groups: declared before anybody looked at their rounds; each is judged over the whole log as one
    player more, and has an excess edge only where its peeker's cards are known. Raises ConfigError
    for a group that cannot be.
    """
    verify_levels(monitored.alpha, fdr)
    people, alpha = monitored.people, monitored.alpha
    log_es = log_e_values(monitored.portfolio, people.states)
    is_out = (people.states.alarms > 0) | e_bh(log_es, fdr)
    named = [people.names[place] for place in np.flatnonzero(is_out).tolist()]
    held = held_back(
        monitored.tables, monitored.store, monitored.sheets, named, alpha=alpha,
        ordered=monitored.ordered,
    )  # fmt: skip
    verdicts = judge(
        monitored.portfolio, people.states, people.names, excess_interval(people.excess),
        people.nets, alpha=alpha, fdr=fdr, held=held,
    )  # fmt: skip
    if groups:
        verdicts += _group_verdicts(monitored, groups, fdr)
        verdicts.sort(key=lambda verdict: (-verdict.log_e, verdict.player))
    return Judged(
        monitored=monitored,
        verdicts=verdicts,
        groups=tuple(group.name for group in groups),
        tables=list(_tables(monitored, verdicts)),
        audit=_audit(monitored),
        data_quality=_data_quality(monitored),
        alpha=alpha,
        fdr=fdr,
    )


def _group_verdicts(monitored: Monitored, groups: Sequence[Group], fdr: float) -> list[Verdict]:
    """Groups as players, folded from the beginning: they are few. Their list is their own."""
    known = set(monitored.people.names)
    for group in groups:
        if group.name in known:
            raise ConfigError(
                f"a group is called '{group.name}', as a player of the log is: give it another name"
            )
    members = dict.fromkeys(
        name for group in groups for name in (*group.members, group.peeker or "") if name in known
    )
    lexicon = Lexicon()
    parts = [
        lexicon.recode(monitored.sheets.recode(player_plays(monitored.store, name)))
        for name in members
    ]
    texts = replace(lexicon.texts, rules=tuple(r.name for r in monitored.sheets.rules))
    joined = (
        Plays.join([replace(part, texts=texts) for part in parts]) if parts else Plays.of(0, texts)
    )
    portfolio = group_portfolio(monitored.sheets.rules, ordered=monitored.ordered)
    plays = group_plays(joined, groups)
    people = fold_people(
        portfolio, People.fresh((), portfolio), plays, np.ones((len(plays), portfolio.n_given)),
        alpha=monitored.alpha,
    )  # fmt: skip
    return judge(
        portfolio, people.states, people.names, excess_interval(people.excess), people.nets,
        alpha=monitored.alpha, fdr=fdr,
    )  # fmt: skip


def _tables(monitored: Monitored, verdicts: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    bar, tables = -log(monitored.alpha), monitored.tables
    for key, by_name in tables.monitors.items():
        left_out = tables.audits.unmonitored.get(key, {})
        for name in sorted({*by_name, *left_out}):
            state = by_name.get(name)
            yield {
                "by": key,
                "name": name,
                "monitor": "off" if state is None else "on",
                "rounds": state.n_rounds if state else 0,
                "e_value": e_value_of(state.log_e) if state else None,
                "log_e": state.log_e if state else None,
                "alarm": state is not None and state.peak >= bar,
                "explanations": state.shares if state else {},
                "left_out": dict(left_out.get(name, {})),
                "holds": [v.player for v in verdicts if f"of {key} {name} is not" in v.held],
            }


def _audit(monitored: Monitored) -> dict[str, list[dict[str, Any]]]:
    audits = monitored.tables.audits
    mis_sets = [
        {"by": "player", "player": name, "hands": hands, "mis_set": wrong, "rate": wrong / hands,
         "cost_cents": cents}
        for name, (hands, wrong, cents) in sorted(audits.settings.items())
        if wrong
    ]  # fmt: skip
    voids: list[dict[str, Any]] = []
    if audits.flags["VOID"] or audits.flags["DEALER_MIS_SET"]:
        for bucket in scan_buckets(monitored.store):
            plays = monitored.sheets.recode(bucket.plays)
            mis_sets += [
                {"by": "dealer", **asdict(one), "alarm": one.is_alarm(monitored.alpha)}
                for one in helpful_errors(plays, bound=_MOST_WRONG_SETTINGS)
            ]
            voids += [
                asdict(one)
                for one in player_voids(plays, monitored.sheets.rules, bound=_MOST_VOIDS)
            ]
    doubled = held_twice(
        audits.card_rounds, audits.doubled, audits.doubled_cards, bound=_MOST_DOUBLED
    )
    return {
        "mispays": _found(audits, "mispays"),
        "mis_sets": mis_sets,
        "short_covers": _found(audits, "short_covers"),
        "other_cards": _found(audits, "other_cards"),
        "cards_twice": _found(audits, "cards_twice"),
        "held_twice": [{**asdict(one), "alarm": one.is_alarm(monitored.alpha)} for one in doubled],
        "voids": sorted(voids, key=lambda one: str(one["player"])),
        "void_seats": _found(audits, "void_seats"),
    }


def _found(audits: Audits, audit: str) -> list[dict[str, Any]]:
    """Findings by table, round and seat, in whatever order they were met."""
    return sorted(
        audits.findings.get(audit, ()),
        key=lambda one: (one.get("table", ""), one["round"], one.get("seat", 0)),
    )


def _data_quality(monitored: Monitored) -> dict[str, Any]:
    manifest, audits = monitored.store.manifest, monitored.tables.audits
    gaps, missing = missing_rounds(monitored.store)
    n_rows = max(audits.n_rows, 1)
    ends = audits.first_time, audits.last_time
    first, last = (None if time == NO_TIME else iso_text(time) for time in ends)
    return {
        "version": manifest.version,
        "rows": audits.n_rows,
        "rounds": sum(file.n_rows for file in manifest.of("rounds")),
        "players": len(monitored.people),
        "first_time": first,
        "last_time": last,
        "counts": asdict(manifest.counts),
        "flags": {flag.name: n for flag in Flag if (n := audits.flags[flag.name or ""])},
        "recorded": {name: audits.recorded[name] / n_rows for name in RECORDED},
        "in_deal_order": monitored.ordered,
        "missing_rounds": missing,
        "rounds_in_order_of_ids": int(monitored.people.ties.sum()),
        "gaps": [asdict(gap) for gap in gaps[:_MOST_GAPS]],
        "rules": {rules.name: rules.rules_hash for rules in monitored.sheets.rules},
        "rules_left_out": dict(monitored.sheets.left_out),
        "findings": dict(audits.n_findings),
        "warnings": [*_imported(manifest.warnings), *_warnings(monitored, missing)],
    }


def _imported(warnings: Mapping[str, int]) -> Iterator[str]:
    """What imports warned of; they count what they read, rows that came before among it."""
    for text, n in warnings.items():
        yield f"imports: {text}" + f" ({n:,} times as read)" * (n > 1)


def _warnings(monitored: Monitored, missing: int) -> Iterator[str]:
    flags: Mapping[str, int] = monitored.tables.audits.flags
    if missing:
        yield (
            f"{missing:,} rounds are missing by their numbers: if they were left out because of "
            "how they ended, no e-value means anything"
        )
    if not monitored.ordered:
        yield (
            "cards are not recorded in the order dealt: a seen card takes several times as many "
            "rounds to show"
        )
    if flags.get("LATE_ROW", 0):
        yield f"{flags['LATE_ROW']:,} rows came after later rounds and count for money alone"
    if flags.get("CARD_TWICE", 0):
        yield (
            f"{flags['CARD_TWICE']:,} rows are of rounds that show a card twice, or two hands for "
            "one: under one full deck that has probability 0, so it was recorded wrongly or a card "
            "came from elsewhere; no e-value of stakes counts them, and the audit lists who held "
            "the cards"
        )
    for name, reason in monitored.sheets.left_out.items():
        yield f"rounds under '{name}' are left out: it {reason}"
