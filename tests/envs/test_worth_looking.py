"""Tasks that show something before the bet are worth a look: exact values, as their pages print."""

import json
from math import sqrt

import numpy as np
import pytest
from worth import DOCS, WORTH, published

from niulab.agents.registry import make_agent
from niulab.engine.cards import RANKS
from niulab.engine.wagers import Slip
from niulab.envs.settings import make_settings
from niulab.evaluation.edges.loophole import loophole_bounds
from niulab.evaluation.edges.peek import peek_bounds
from niulab.evaluation.edges.shoe import evaluate_shoe, shoe_bounds, shoes
from niulab.solvers.information import law_given_card
from niulab.solvers.joint_law import joint_law
from niulab.solvers.shoes.slips import shoe_slips
from niulab.solvers.values import box_values


def test_peek_is_worth_a_look_and_the_card_is_the_only_edge():
    settings = make_settings("niulab/Peek-v0")
    means, squares = np.empty((13, 10)), np.empty((13, 10))
    for place, rank in enumerate(RANKS):
        law = law_given_card(settings.rules, rank)
        for index, slip in enumerate(settings.menu):
            cells = [
                (n, cell.settle(settings.rules, slip).net_cents) for cell, n in law.cells.items()
            ]
            means[place, index] = sum(n * net for n, net in cells) / law.n_deals / 100
            squares[place, index] = sum(n * net * net for n, net in cells) / law.n_deals / 10_000
    blind = means.mean(axis=0)
    uniform, simple, optimum = blind.mean(), blind.max(), means.max(axis=1).mean()
    assert max(blind) < 0  # a sound sheet: no slip is worth its stake without the look
    assert optimum - simple > WORTH * (optimum - uniform)
    best, places = means.argmax(axis=1), np.arange(13)
    assert best.tolist() == [0] * 9 + [9, 8, 8, 8]
    second, first = np.sort(means, axis=1)[:, -2:].T
    gaps = first - second
    sd = sqrt(squares[places, best].mean() - optimum**2)
    share = (optimum - simple) / (optimum - uniform)
    published("Peek.md", *(f"{v:.6f}" for v in (uniform, simple, optimum)), f"{share:.3f}")
    published("Peek.md", *(f"{means[place].max():.4f}" for place in (0, 8, 9, 10, 11, 12)))
    published("Peek.md", f"{sd:.3f} / {gaps.mean():.4f} = {sd / gaps.mean():.0f}")
    published("Peek.md", f"{sd:.3f} / {gaps.min():.4f} = {sd / gaps.min():.0f}")


def means_under(rules, menu):
    """Mean and mean square of each slip in base units, from the cells of the sheet's law."""
    law, found = joint_law(rules), []
    for slip in menu:
        nets = [(n, cell.settle(rules, slip).net_cents / 100) for cell, n in law.cells.items()]
        found.append([sum(n * net**power for n, net in nets) / law.n_deals for power in (1, 2)])
    return np.array(found).T


@pytest.mark.long  # seven rankings, some seconds each
def test_loopholes_are_worth_reading_and_three_sheets_are_the_players():
    settings = make_settings("niulab/Loophole-v0")
    means, squares = np.full((2, 13, 10), np.nan)
    for place, rules in enumerate(settings.sheets):
        names = {"even": rules.required_box}
        stakes = [[(names.get(box, box), cents) for box, cents in s.stakes] for s in settings.menu]
        places = [i for i, slip in enumerate(stakes) if all(box in rules.boxes for box, _ in slip)]
        menu = [Slip(tuple(stakes[i])) for i in places]
        means[place, places], squares[place, places] = means_under(rules, menu)
    uniform = np.nanmean(means, axis=1).mean()
    assert np.argwhere(np.isnan(means)).tolist() == [[12, 9]]
    blind = np.where(np.isnan(means), means[:, :1], means).mean(axis=0)  # slip 0 in its place
    best, places = np.nanargmax(means, axis=1), np.arange(13)
    optimum, simple = np.nanmax(means, axis=1).mean(), blind.max()
    assert best.tolist() == [0, 0, 0, 0, 6, 6, 0, 0, 0, 0, 0, 9, 0]
    assert (np.flatnonzero(np.nanmax(means, axis=1) > 0) == [4, 5, 11]).all()
    assert blind.argmax() == 6
    assert optimum - simple > WORTH * (optimum - uniform)
    share = (optimum - simple) / (optimum - uniform)
    gaps = np.diff(np.sort(np.nan_to_num(means, nan=-99), axis=1)[:, -2:])
    sd = sqrt(squares[places, best].mean() - optimum**2)
    figures = (f"{value:.6f}" for value in (uniform, blind[0], simple, optimum, blind.mean()))
    published("Loophole.md", *figures, f"{share:.3f}")
    published("Loophole.md", f"{sd:.3f} / {gaps.mean():.4f} = {sd / gaps.mean():.0f}")
    published("Loophole.md", f"{sd:.3f} / {gaps.min():.4f} = {sd / gaps.min():.0f}")
    bounds = loophole_bounds(settings)
    assert float(bounds.random) == pytest.approx(uniform, abs=1e-12)
    assert float(bounds.optimum) == pytest.approx(optimum, abs=1e-12)
    lines = (DOCS / "Loophole.md").read_text(encoding="utf-8").splitlines()
    for rules, worth, slip in zip(settings.sheets, means[places, best], best, strict=True):
        name = rules.name.replace("even-double-super-bonus-", "...-")
        (line,) = [line for line in lines if line.startswith(f"| `{name}` |")]
        edges = [f"{100 * float(box.house_edge):+.4f} %" for box in box_values(rules).values()]
        assert all(edge in line for edge in edges)
        assert line.endswith(f"| {slip} | {worth:.6f} |")


@pytest.mark.parametrize(
    "channel",
    [
        {},
        pytest.param({"shows": "card"}, marks=pytest.mark.long),
        {"shows": ["A 2 3 4 5", "6 7 8 9", "10 J Q K"]},
        {"shows": "color"},
        {"see_rate": 0.5},
        {"noise": 0.5},
        {"position": "dealer"},
    ],
    ids=str,
)
def test_what_other_channels_are_worth_is_published(channel):
    bounds = peek_bounds(make_settings("niulab/Peek-v0", channel=channel))
    optimum, over = (f"{float(v):.6f}" for v in (bounds.optimum, bounds.optimum - bounds.random))
    text = json.dumps(channel)
    lines = (DOCS / "Peek.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| `{text}`")]
    assert line.endswith(f"| {optimum} | {over} |")


def test_a_shoe_is_worth_counting_and_a_linear_count_is_not_all():
    """Uniform play and blind slips exactly, counters within intervals that hold at both ends."""
    settings = make_settings("niulab/Shoe-v0")
    slips = shoe_slips(settings.rules, settings.menu)
    means = settings.n_rounds * slips.fresh / 100
    uniform, blind = means.mean(), means.max()
    assert blind == means[0]  # the least slip
    bounds = shoe_bounds(settings, n_rounds=26_000)
    count = evaluate_shoe(make_agent("counter", settings), settings, n_rounds=26_000)
    least = bounds.optimum - bounds.gap
    assert least - blind > WORTH * (bounds.optimum - uniform)
    assert least - count.estimate.high > WORTH * (bounds.optimum - uniform)
    published("Shoe.md", f"{uniform:.6f}", f"{blind:.6f}")
    published("Shoe.md", f"{-slips.fresh_bonus[6]:.6f} %")
    published("Shoe.md", *{f"{float(effect) / 100:+.6f}" for effect in slips.removals[6].values()})
    (some,) = shoes(settings, n_shoes=500, seed=0)
    nets = slips.bonus_nets(some.left.reshape(-1, 52)) + slips.fresh_main
    second, first = np.sort(nets / 100, axis=1)[:, -2:].T
    assert (first - second).mean() == pytest.approx(0.110, abs=0.005)
    assert set(nets.argmax(axis=1)) == {0, 9}


@pytest.mark.long
def test_what_counting_is_worth_is_published():
    settings = make_settings("niulab/Shoe-v0")
    bounds = shoe_bounds(settings)
    count = evaluate_shoe(make_agent("counter", settings), settings)
    span = bounds.optimum - bounds.random
    blind = 0.26 * shoe_slips(settings.rules, settings.menu).fresh[0]
    published(
        "Shoe.md",
        f"{bounds.optimum:.3f} ± {bounds.gap:.3f}",
        f"{count.value:.3f} ± {count.half_width:.3f}",
        f"by {(bounds.optimum - blind) / span:.3f}",
        f"by {(bounds.optimum - count.value) / span:.3f}",
        f"has {1 - (bounds.optimum - blind) / span:.3f}",
        f"{count.normalized:.3f}",
    )


@pytest.mark.long
def test_a_costly_bonus_is_never_worth_a_count():
    """The sheet of the other research shoe: the task would be a sanity check."""
    settings = make_settings("niulab/Shoe-v0", rules="six-deck-shoe-bonus")
    bounds = shoe_bounds(settings, n_rounds=32_000)
    blind = 0.16 * shoe_slips(settings.rules, settings.menu).fresh.max()
    assert bounds.optimum - blind < 0.001 * (bounds.optimum - bounds.random)
