"""A table of several seats as PettingZoo's ``ParallelEnv``; importing this needs PettingZoo."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded
from numpy.typing import NDArray
from pettingzoo.utils.env import ParallelEnv

from niulab.engine.round import Round
from niulab.engine.wagers import least_slip
from niulab.envs.encoding import Encoding
from niulab.envs.multi.table import Table, verify_table
from niulab.envs.seat.core import Hand, State, Transition
from niulab.envs.settings import EnvSettings, make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.errors import ConfigError
from niulab.seeding import entropy_seed

__all__ = ["NiuNiuParallelEnv"]

_SEED_MASK = (1 << 64) - 1


class _Seat(NiuNiuEnv):
    """What one seat is shown, by the words of the single environment; the table moves it."""

    @property
    def state(self) -> State:
        return self._now()

    def show(self, state: State, last: Transition | None = None) -> tuple[Any, dict[str, Any]]:
        self._state, self._last = state, last
        return self._observation(), self._info()


class NiuNiuParallelEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types
    """Niu Niu Poker at several seats with one dealer: all bet, get their cards, set, settle.

    Agents are "seat_1" to "seat_n", clockwise from the marked position. Each has the actions,
    observations, rewards and infos of the single environment; seats whose session is over leave
    ``agents`` while the others play on. See docs/environments/multi.md.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012, as in PettingZoo
        "name": "niulab_v0",
        "render_modes": ["ansi", "human"],
        "render_fps": 1,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        preset: str | EnvSettings = "niulab/NiuNiu-v0",
        *,
        n_seats: int = 3,
        max_cycles: int | None = None,
        render_mode: str | None = None,
        **keywords: Any,
    ) -> None:
        if render_mode not in {None, *self.metadata["render_modes"]}:
            raise ConfigError(f"render_mode is 'ansi', 'human' or None, got {render_mode!r}")
        if max_cycles is not None and (type(max_cycles) is not int or max_cycles < 1):
            raise ConfigError(
                f"max_cycles is a whole number of at least 1, or None, got {max_cycles!r}"
            )
        self.settings = make_settings(preset, **keywords)
        verify_table(self.settings, n_seats)
        self.max_cycles = max_cycles
        self.render_mode = render_mode
        mode = None if render_mode is None else "ansi"
        self._seats = [_Seat(self.settings, render_mode=mode) for _ in range(n_seats)]
        self._table = Table([seat.core for seat in self._seats])
        self.possible_agents = [f"seat_{number}" for number in range(1, n_seats + 1)]
        self.agents: list[str] = []
        self._place = {agent: place for place, agent in enumerate(self.possible_agents)}
        self._n_cycles = 0
        self._has_begun = False

    @property
    def encoding(self) -> Encoding:
        """What the numbers of every seat's observation mean."""
        return self._seats[0].encoding

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The seat's own space, the same object in every call."""
        return self._seats[self._place[agent]].observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The seat's own space, the same object in every call."""
        return self._seats[self._place[agent]].action_space

    def action_masks(self, agent: str) -> NDArray[Any]:
        """Legal actions of one seat, bool (n_actions,)."""
        return self._seats[self._place[agent]].action_masks()

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Open an episode with round 0 of ``seed``, or with the next round of the running stream.

        ``options={"deal": [hand of seat 1, ..., hand of the dealer]}`` deals these hands in the
        first round; other options are not looked at, as PettingZoo wants.
        """
        forced = None if not options or "deal" not in options else self._read_deal(options["deal"])
        index = 0
        if seed is None and not self._has_begun:
            seed = entropy_seed()
        elif seed is None:
            states = [seat.state for seat in self._seats]
            seed, index = states[0].seed, 1 + max(state.round_index for state in states)
        states = self._table.start(seed & _SEED_MASK, index, forced)
        self.agents, self._n_cycles, self._has_begun = [*self.possible_agents], 0, True
        shown = [seat.show(state) for seat, state in zip(self._seats, states, strict=True)]
        if self.render_mode == "human":
            self.render()
        return (
            {agent: shown[self._place[agent]][0] for agent in self.agents},
            {agent: shown[self._place[agent]][1] for agent in self.agents},
        )

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Any],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Play one action of every seat in ``agents``; the dicts have a key for each of them.

        Raises InvalidAction, with nothing changed, if an action is missing or none of the space.
        """
        if not self.agents:
            when = "after the end of the episode" if self._has_begun else "before the first reset()"
            raise ResetNeeded(f"step() {when}: call reset()")
        if set(actions) != set(self.agents):
            raise InvalidAction(
                f"step() takes an action of each of {self.agents}, got {sorted(actions)}"
            )
        places = [self._place[agent] for agent in self.agents]
        pairs = zip(self.agents, places, strict=True)
        played = {place: self._seats[place].read_action(actions[agent]) for agent, place in pairs}
        moved = self._table.step([seat.state for seat in self._seats], played)
        self._n_cycles += 1
        is_cut = self.max_cycles is not None and self._n_cycles >= self.max_cycles
        observations, rewards, terminations, infos = {}, {}, {}, {}
        for agent in self.agents:
            state, last = moved[self._place[agent]]
            observation, info = self._seats[self._place[agent]].show(state, last)
            if is_cut:
                info.setdefault("end", "max_cycles")
            observations[agent], infos[agent] = observation, info
            rewards[agent], terminations[agent] = last.reward, last.end is not None
        truncations = dict.fromkeys(self.agents, is_cut)
        self.agents = [agent for agent in self.agents if not (terminations[agent] or is_cut)]
        if self.render_mode == "human":
            self.render()
        return observations, rewards, terminations, truncations, infos

    def render(self) -> str | None:
        """Every seat in words: returned in mode "ansi", written to stdout in mode "human"."""
        if self.render_mode is None:
            return self._seats[0].render()  # warns, once
        pairs = zip(self.possible_agents, self._seats, strict=True)
        text = "\n".join(f"{agent}: {seat.render()}" for agent, seat in pairs)
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(text + "\n")
        return None

    # ------------------------------------------------------------ state

    def get_state(self) -> dict[str, Any]:
        """All that fixes the future, as JSON can hold it."""
        seats = [seat.get_state() for seat in self._seats]
        return {"seats": seats, "agents": [*self.agents], "n_cycles": self._n_cycles}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of ``get_state`` of a table with as many seats."""
        if len(state["seats"]) != len(self._seats):
            raise ConfigError(
                f"this state is of {len(state['seats'])} seats, the table has {len(self._seats)}"
            )
        for seat, part in zip(self._seats, state["seats"], strict=True):
            seat.set_state(part)
        self.agents, self._n_cycles = [*state["agents"]], state["n_cycles"]
        self._has_begun = True

    def _read_deal(self, deal: Any) -> list[Hand]:
        """Hands of the seats and the dealer, as card texts or ids; raises CardError."""
        table = Round.open(self.settings.rules, len(self._seats))
        for number in range(1, len(self._seats) + 1):
            table = table.place(number, least_slip(self.settings.rules))
        dealt = table.deal(deal)  # equal stakes: to the seats in their order
        return [*dealt.packets, dealt.dealer_packet]
