"""Exact scores of whole sessions: a policy is asked at every bankroll and round it can reach.

The forward programme moves the law of the bankroll through the rounds on the lattice of the nets,
so a score has rounding error only. Where the agent also sets hands, its settings make another law
of the round for every slip (``solvers.policy_law``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, FiniteMemoryBettor, StochasticAgent
from niulab.agents.betting.solver import solve_task
from niulab.envs.encoding import Encoding
from niulab.envs.rows.masks import LegalActions
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError
from niulab.evaluation.answers import AnswerReader
from niulab.evaluation.asking import (
    HandAsker,
    Progress,
    asked_weights,
    probabilities_of,
    why_hands_simulated,
    why_memory_simulated,
)
from niulab.evaluation.exact import SETTING_IS_FREE
from niulab.evaluation.score import Bounds, SessionScore
from niulab.evaluation.sessions.remembered import remembered_ends
from niulab.evaluation.sessions.walk import SessionWalk, Weights, masks_at, uniform_choice
from niulab.seeding import generator, stream_seed
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.matchups import matchups
from niulab.solvers.policy_law import policy_law, uniform_weights

__all__ = ["evaluate_session", "session_bounds", "why_session_simulated"]

_SAMPLE = 1024  # states at which an agent is asked twice
_HANDS_SAMPLE = 256
_STATES_OF_HANDS = 8
_ROWS = 256  # episodes in which an agent is watched for a memory
_MOST_STEPS = 128


def evaluate_session(
    agent: Agent,
    settings: EnvSettings,
    *,
    chunk: int = 65536,
    stochastic: bool = False,
    progress: Progress | None = None,
    task: str = "niulab/Session-v0",
) -> SessionScore:
    """Score a policy that bets over a bankroll (and sets its hands), without sampling.

    Raises ConfigError, with the reason, where no exact score exists.
    """
    reason, found = _look(agent, settings)
    if reason is not None:
        raise ConfigError(f"'{agent.name}' has no exact score: {reason}; simulate it instead")
    rules = settings.rules
    stochastic = stochastic or found.by_chance is not None
    asked = _Asked(agent, settings, chunk=chunk, stochastic=stochastic, progress=progress)
    if _follows(agent, settings):
        best = ends = remembered_ends(agent, settings)
    else:
        best = ends = SessionWalk(settings, asked.law_of).run(asked.choose)
    if asked.sets_hands:  # the same bets with every hand set at its strongest
        best = SessionWalk(settings, lambda _: joint_law(rules)).run(asked.choose)
    bounds = session_bounds(settings)
    return SessionScore(
        agent=agent.name,
        task=task,
        rules=rules.name,
        rules_hash=rules.rules_hash,
        source=_source(agent, settings, stochastic=stochastic),
        objective=settings.objective,
        value=ends.value,
        setting_regret=best.value - ends.value,
        mean_net=ends.net_cents / rules.base_unit_cents,
        mean_rounds=ends.rounds,
        ends=dict(sorted(ends.by_end.items())),
        n_states=ends.n_states,
        n_illegal=asked.n_illegal,
        error=ends.error,
        bounds=bounds,
        notes=() if asked.sets_hands or not settings.sets_hand else (SETTING_IS_FREE,),
    )


def why_session_simulated(agent: Agent, settings: EnvSettings) -> str | None:
    """Why a policy that bets over a bankroll has no exact score, or None if it has one."""
    return _look(agent, settings)[0]


def session_bounds(settings: EnvSettings) -> Bounds:
    """Uniform bets over the legal slips with uniform settings, and the optimum, both exact.

    None for a bound that this version cannot compute.
    """
    if _why_task_simulated(settings) is not None:
        return Bounds(random=None, optimum=None)
    key = _key(settings)
    if key not in _BOUNDS:
        law = joint_law(settings.rules)
        if _sets_hands(settings):
            law = policy_law(settings.rules, uniform_weights(matchups(settings.rules)))
        random = SessionWalk(settings, lambda _: law).run(uniform_choice(settings)).value
        try:
            best = solve_task(settings)
        except ConfigError:  # a sheet, an objective or a lattice without a solver
            _BOUNDS[key] = Bounds(random=random, optimum=None)
        else:
            _BOUNDS[key] = Bounds(random=random, optimum=best.value, gap=best.gap)
    return _BOUNDS[key]


def _key(settings: EnvSettings) -> tuple[object, ...]:
    """What the bounds of a task depend on."""
    return (
        settings.rules.rules_hash,
        settings.decisions,
        settings.menu,
        settings.objective,
        settings.bankroll_cents,
        settings.target_cents,
        settings.n_rounds,
        settings.can_leave,
        settings.stakes,
    )


_BOUNDS: dict[tuple[object, ...], Bounds] = {}


def _follows(agent: Agent, settings: EnvSettings) -> TypeGuard[FiniteMemoryBettor]:
    """Whether an agent's bets are read off its tables instead of asked for."""
    is_finite = isinstance(agent, FiniteMemoryBettor) and agent.remembers
    return is_finite and not settings.sets_hand


def _source(agent: Agent, settings: EnvSettings, *, stochastic: bool) -> str:
    if _follows(agent, settings):
        return "tables"
    return "probabilities" if stochastic else "argmax"


# ---------------------------------------------------------------- asking


class _Asked:
    """An agent's bets as probabilities, and the laws of the round that its settings make."""

    def __init__(
        self,
        agent: Agent,
        settings: EnvSettings,
        *,
        chunk: int,
        stochastic: bool,
        progress: Progress | None,
    ) -> None:
        self.agent = agent
        self.settings = settings
        self.n_illegal = 0
        self.sets_hands = _sets_hands(settings)
        self._encoding = Encoding(settings)
        self._reader = AnswerReader(settings)
        self._words: dict[str, Any] = {
            "chunk": chunk,
            "stochastic": stochastic,
            "progress": progress,
        }
        self._laws: dict[int | None, JointLaw] = {}

    def choose(
        self, bankrolls: NDArray[np.int64], left: int | None, masks: NDArray[np.bool_]
    ) -> Weights:
        """The agent's actions at some bankrolls; an illegal one counts as action 0."""
        observations = self._encoding.encode_bets(
            len(bankrolls), bankrolls=bankrolls, rounds_left=left or 0
        )
        if self._words["stochastic"]:
            weights = probabilities_of(self.agent, observations, masks).astype(np.float64)
            return _legal_weights(weights, masks)
        rows = np.arange(len(bankrolls))
        answer, _ = self.agent.act(
            observations,
            masks,
            {},
            self.agent.initial_state(len(rows)),
            generator(0, "evaluation/agent"),
        )
        actions = self._reader.actions(answer, bankrolls, self.agent.name)
        known = (actions >= 0) & (actions < masks.shape[1])
        is_legal = known & masks[rows, np.where(known, actions, 0)]
        self.n_illegal += int(np.count_nonzero(~is_legal))
        weights = np.zeros(masks.shape)
        weights[rows, np.where(is_legal, actions, 0)] = 1.0
        return weights

    def law_of(self, index: int) -> JointLaw:
        """The law of a round at a slip of the menu under the agent's settings."""
        rules = self.settings.rules
        if not self.sets_hands:
            return joint_law(rules)
        asker = HandAsker(self.agent, self.settings, slip=index)
        is_direct = not self._words["stochastic"] and asker.can_set_directly()
        key = None if is_direct else index  # asked directly it is not shown the slip
        if key not in self._laws:
            policy, wrong = asked_weights(asker, **self._words)
            self.n_illegal += wrong
            self._laws[key] = policy_law(rules, policy)
        return self._laws[key]


def _legal_weights(weights: Weights, masks: NDArray[np.bool_]) -> Weights:
    """Probabilities with what lies on illegal actions moved to action 0; rows add to 1."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ConfigError("an agent's probabilities are numbers >= 0 that add to 1 in every row")
    legal: Weights = np.where(masks, weights, 0.0)
    legal[:, 0] += np.where(masks, 0.0, weights).sum(axis=1)
    legal /= legal.sum(axis=1, keepdims=True)
    return legal


# ---------------------------------------------------------------- where no exact score exists


def _sets_hands(settings: EnvSettings) -> bool:
    return settings.sets_hand and settings.rules.arrangement == "as_set"


def _why_task_simulated(settings: EnvSettings) -> str | None:
    if settings.bankroll_cents is None:
        return "rounds without a bankroll are simulated in this version"
    if settings.n_rounds is None:
        return "a session without a deadline is simulated in this version: give n_rounds"
    if settings.rules.deck.reshuffle == "penetration" and settings.n_rounds != 1:
        return "rounds of one shoe depend on each other"
    return why_hands_simulated(settings)


class _Dependence(NamedTuple):
    """What an agent's answers depend on besides bankroll and rounds left, or slip and hand.

    by_chance: on chance or memory, for which probabilities can stand. by_memory: on the rounds
    before, as remembered or as the infos tell them. by_bankroll: settings that depend on the
    bankroll or the rounds left, so that no law of the round can hold them.
    """

    by_chance: str | None = None
    by_memory: str | None = None
    by_bankroll: str | None = None


def _look(agent: Agent, settings: EnvSettings) -> tuple[str | None, _Dependence]:
    """Why there is no exact score, or None; and what the agent's answers were seen to depend on."""
    reason = _why_task_simulated(settings) or why_memory_simulated(agent)
    if reason is not None or _follows(agent, settings):
        return reason, _Dependence()
    found = _dependence(agent, settings)
    if found.by_chance is not None and not isinstance(agent, StochasticAgent):
        return found.by_chance, found
    return found.by_memory or found.by_bankroll, found


def _dependence(agent: Agent, settings: EnvSettings) -> _Dependence:
    """What a sample of states and hands, asked about twice and at several bankrolls, shows."""
    rng = generator(0, "evaluation/states")
    bankrolls, lefts = _some_states(settings, rng)
    masks = masks_at(settings, LegalActions(settings), bankrolls)
    shown = Encoding(settings).encode_bets(len(bankrolls), bankrolls=bankrolls, rounds_left=lefts)
    memory, answers, reader = agent.initial_state(len(shown)), [], AnswerReader(settings)
    for seed in (0, 1):
        answer, memory = agent.act(shown, masks, {}, memory, generator(seed, "evaluation/agent"))
        answers.append(reader.actions(answer, bankrolls, agent.name))
    n_changed = int(np.count_nonzero(answers[0] != answers[1]))
    by_chance = None
    if n_changed:
        by_chance = (
            "it bets by chance or memory: asked twice, it bet otherwise at "
            f"{n_changed} of {len(shown)} sampled bankrolls"
        )
    by_memory = None if n_changed else _remembered(agent, settings)
    if by_memory is not None or not _sets_hands(settings):
        return _Dependence(by_chance, by_memory)
    n_slips = len(settings.menu)
    for slip in np.unique(np.clip(answers, 0, n_slips - 1)).tolist():
        found = HandAsker(agent, settings, slip=slip).find_dependence()
        by_chance = by_chance or found
        covered = np.flatnonzero(masks[:, slip])
        some = covered[np.linspace(0, len(covered) - 1, _STATES_OF_HANDS).astype(np.int64)]
        places = {"slip": slip, "states": (bankrolls[some].tolist(), lefts[some].tolist())}
        changed = _settings_changed(agent, settings, rng, by_chance=found is not None, **places)
        if changed is not None:
            return _Dependence(by_chance, by_bankroll=changed)
    return _Dependence(by_chance)


def _remembered(agent: Agent, settings: EnvSettings) -> str | None:
    """Whether an agent in the environment, with its memory and the infos, acts otherwise than one
    that is shown the same for the first time; None if not.
    """
    if settings.sets_hand and settings.can_leave:
        return None  # rows that leave are a phase ahead, where agents in two parts keep no memory
    env = NiuNiuVectorEnv(_ROWS, replace(settings, mask="info"))
    shown, infos = env.reset(seed=stream_seed(0, "evaluation/memory"))
    memory, is_playing = agent.initial_state(_ROWS), np.ones(_ROWS, dtype=np.bool_)
    n_changed, n_asked, reader = 0, 0, AnswerReader(settings)
    for _ in range(_MOST_STEPS):
        masks, rng = env.action_masks(), generator(0, "evaluation/agent")
        answer, _ = agent.act(shown, masks, {}, agent.initial_state(_ROWS), rng)
        chips = infos["bankroll_cents"]
        fresh = reader.actions(answer, chips, agent.name)
        rng = generator(0, "evaluation/agent")
        answer, memory = agent.act(shown, masks, infos, memory, rng)
        actions = reader.actions(answer, chips, agent.name)
        n_changed += int(np.count_nonzero((actions != fresh) & is_playing))
        n_asked += int(np.count_nonzero(is_playing))
        moves, _ = reader.moves(answer, masks, agent.name)
        shown, _, terminated, truncated, infos = env.step(moves)
        is_playing &= ~(terminated | truncated)
        if not is_playing.any():
            break
    if not n_changed:
        return None
    return (
        "it acts by memory or by the infos: asked without them, it acted otherwise "
        f"{n_changed} of {n_asked} times"
    )


def _settings_changed(
    agent: Agent,
    settings: EnvSettings,
    rng: np.random.Generator,
    *,
    slip: int,
    states: tuple[list[int], list[int]],
    by_chance: bool,
) -> str | None:
    """Whether some hands are set otherwise at other bankrolls and rounds left; None if not."""
    table = matchups(settings.rules)
    rows = np.sort(rng.choice(np.flatnonzero(table.weights), size=_HANDS_SAMPLE, replace=False))
    first: NDArray[Any] | None = None
    n_changed = 0
    for bankroll, left in zip(*states, strict=True):
        asker = HandAsker(agent, settings, slip=slip, bankroll_cents=bankroll, rounds_left=left)
        if by_chance and isinstance(agent, StochasticAgent):
            seen: NDArray[Any] = np.round(asker.probabilities(table.hands[rows]), 3)
        else:
            actions = np.clip(asker.actions(table.hands[rows]), 0, N_SETTINGS - 1)
            seen = table.options[rows, table.option_of[rows, actions]][:, None]
        first = seen if first is None else first
        n_changed = max(n_changed, int(np.count_nonzero((seen != first).any(axis=1))))
    if not n_changed:
        return None
    return (
        "its settings depend on the bankroll or the rounds left, for "
        f"{n_changed} of {len(rows)} sampled hands"
    )


def _some_states(
    settings: EnvSettings, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bankrolls and rounds left that play from the start can come to, (n,) each; the start first.

    All of them or, of more than _SAMPLE, a sample.
    """
    seen: list[tuple[int, int]] = []

    def note(chips: NDArray[np.int64], left: int | None, masks: NDArray[np.bool_]) -> Weights:
        seen.extend((bankroll, left or 0) for bankroll in chips.tolist())
        return uniform(chips, left, masks)

    uniform = uniform_choice(settings)
    SessionWalk(settings, lambda _: joint_law(settings.rules)).run(note)
    rows = np.array(seen, dtype=np.int64)
    if len(rows) > _SAMPLE:
        others = rng.choice(np.arange(1, len(rows)), size=_SAMPLE - 1, replace=False)
        rows = rows[np.append(0, np.sort(others))]
    return rows[:, 0], rows[:, 1]
