"""``niulab play``: a game at the terminal, or an agent's game to watch."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from niulab.cli.agents.asking import HasLeft, Person
from niulab.cli.agents.choosing import choose
from niulab.cli.agents.coach import Advice, advise
from niulab.cli.output import (
    JsonFlag,
    complain,
    console,
    exact,
    examples,
    print_json_line,
    warn,
)
from niulab.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from niulab.agents.base import Agent
    from niulab.envs.seat.core import State, Transition
    from niulab.envs.settings import EnvSettings

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab play",
    "niulab play --env Arrange --coach",
    "niulab play --agent trained:ppo_arrange --seed 3 --rounds 5 --coach",
    "niulab play --agent system:martingale --env Session --json",
)

_TASK = "niulab/NiuNiu-v0"
_ROUNDS_OF_ONE = 10
"""Rounds where a task's episode is one round and nobody says how many."""


def run(
    env: Annotated[
        str | None,
        typer.Option(
            help="The task, as NiuNiu or niulab/NiuNiu-v0. Default: a model's own, else NiuNiu.",
            metavar="ID",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="Watch an agent: a name, trained:NAME or a model's folder.", metavar="AGENT"
        ),
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help="A shipped name or the path of a rules file.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the cards. Default: a new one, printed.", min=0)
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Rounds at most. Default: one session, or ten of a one-round task.", min=1
        ),
    ] = None,
    coach: Annotated[
        bool,
        typer.Option("--coach", help="After each hand, its best setting and what yours cost."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Play against the dealer, or watch an agent play.

    Bets are chosen from the menu by number or name, front cards by place or
    name; q ends the game. Where standard input is no terminal the answers are
    its lines, and a wrong one ends the command. --json prints a line per round
    and one at the end; questions then go to stderr.
    """
    from niulab.envs.presets import full_id
    from niulab.envs.settings import make_settings
    from niulab.seeding import entropy_seed
    from niulab.solvers.values import edges_of_all

    keywords = {} if rules is None else {"rules": rules}
    player: Agent | None = None
    if agent is None:
        task = _TASK if env is None else full_id(env)
        settings = make_settings(task, **keywords)
        if settings.stakes == "continuous":
            message = (
                f"{task} has continuous stakes, a person bets from a menu: name an --agent to "
                "watch, or play niulab/Session-v0"
            )
            raise ConfigError(message)
    else:
        task, settings, player = choose(agent, env, keywords, default=_TASK)
    warn(edges_of_all(settings.every_sheet))
    game = _Game(
        settings,
        task=task,
        player=player,
        seed=entropy_seed() if seed is None else seed,
        rounds=rounds or _default_rounds(settings),
        has_coach=coach,
        is_json=json,
    )
    game.play()


def _is_seated() -> bool:
    """Whether a person types the answers, who can be asked again."""
    return sys.stdin.isatty()


def _default_rounds(settings: EnvSettings) -> int | None:
    return _ROUNDS_OF_ONE if settings.n_rounds == 1 else None


@dataclass
class _Game:
    """One sitting: cards of one seed, played until its rounds, its session or the person ends it.

    rounds: None plays one session to its end.
    """

    settings: EnvSettings
    task: str
    player: Agent | None
    seed: int
    rounds: int | None
    has_coach: bool
    is_json: bool
    n_played: int = 0
    net_cents: int = 0
    regret_cents: Fraction = field(default_factory=Fraction)

    def play(self) -> None:
        from niulab.envs.seat.core import State
        from niulab.envs.single import NiuNiuEnv
        from niulab.seeding import generator

        self._say_hello()
        env, rng = NiuNiuEnv(self.settings), generator(self.seed, "play")
        observation, info = env.reset(seed=self.seed)
        person = None if self.player is not None else self._person()
        memory: Any = None if self.player is None else self.player.initial_state(1)
        end = "rounds"
        while self.rounds is None or self.n_played < self.rounds:
            state = State.from_json(env.get_state()["state"])
            mask = env.action_masks()
            if person is not None:
                self._show(state, mask, env.core.signal(state), env.core.settings_at(state))
                try:
                    action = person.decide(state, mask)
                except HasLeft:
                    end = "left"
                    break
            elif self.player is not None:
                actions, memory = self.player.act(observation[None], mask[None], info, memory, rng)
                action = actions[0]
            index = env.read_action(action)
            # a pure step: the environment's own next
            following, transition = env.core.step(state, index)
            observation, _, has_ended, _, info = env.step(action)
            if transition.ruling is not None:
                played = env.core.settings_at(following, is_settled=True)
                self._count(state, index, transition, int(info["bankroll_cents"]), played)
            if not has_ended:
                continue
            if self.settings.n_rounds != 1:  # a session, which is played once
                end = str(transition.end)
                break
            observation, info = env.reset()
            memory = None if self.player is None else self.player.initial_state(1)
        self._say_goodbye(end)

    def _person(self) -> Person:
        out, is_seated = console(stderr=self.is_json), _is_seated()

        def ask(question: str) -> None:
            if is_seated:
                out.print(f"{question}:", end=" ")

        return Person(self.settings, ask=ask, complain=complain if is_seated else None)

    # ------------------------------------------------------------ a round

    def _count(
        self,
        state: State,
        action: int,
        transition: Transition,
        bankroll: int,
        played: EnvSettings,
    ) -> None:
        """Add up a settled round and tell of it; ``played`` are the settings of its sheet."""
        from niulab.envs.encoding import SETTING

        ruling = transition.ruling
        assert ruling is not None  # noqa: S101, the caller has looked
        self.n_played += 1
        self.net_cents += ruling.net_cents
        advice = None
        if self.has_coach and state.phase == SETTING:
            advice = advise(self.settings, state, 0 if transition.is_illegal else action)
            self.regret_cents += advice.regret_cents
        if self.is_json:
            print_json_line(self._record(transition, advice, bankroll, played))
        else:
            self._tell(transition, advice, bankroll, played)

    def _record(
        self, transition: Transition, advice: Advice | None, bankroll: int, played: EnvSettings
    ) -> dict[str, Any]:
        ruling = transition.ruling
        assert ruling is not None  # noqa: S101, the caller has looked
        player, dealer = transition.arrangements(played.rules)
        record: dict[str, Any] = {
            "round": self.n_played,
            "rules": played.rules.name,
            "slip": dict(played.menu[ruling.slip].stakes),
            "hand": _texts(transition.hand),
            "front": _texts(player.pair),
            "rank": player.rank,
            "dealer": _texts(transition.dealer),
            "dealer_front": _texts(dealer.pair),
            "dealer_rank": dealer.rank,
            "outcome": ruling.outcome.name.lower(),
            "net_cents": ruling.net_cents,
            "net_by_box": dict(ruling.settlement.net_by_box),
            "bankroll_cents": None if self.settings.bankroll_cents is None else bankroll,
        }
        if self.has_coach:
            record["best_front"] = None if advice is None else _texts(advice.best)
            record["regret_cents"] = None if advice is None else float(advice.regret_cents)
            record["regret_cents_exact"] = None if advice is None else exact(advice.regret_cents)
        return record

    def _tell(
        self, transition: Transition, advice: Advice | None, bankroll: int, played: EnvSettings
    ) -> None:
        ruling, rules = transition.ruling, played.rules
        assert ruling is not None  # noqa: S101, the caller has looked
        out, unit = console(), rules.base_unit_cents
        sheet = "" if self.settings.sheets is None else f" under {rules.name}"
        slip = played.menu[ruling.slip]
        out.print(f"\nround {self.n_played}, slip {slip}{sheet}", markup=False)
        for who, hand in zip(("you", "dealer"), transition.arrangements(rules), strict=True):
            name = who if self.player is None or who != "you" else self.player.name
            behind = _cards(hand.shown_base) if hand.has_base else Text("no base")
            out.print(
                Text.assemble(f"  {name}: ", behind, " / ", _cards(hand.pair), f"  {hand.rank}")
            )
        nets = ", ".join(
            f"{box} {net / unit:+.2f}" for box, net in ruling.settlement.net_by_box.items()
        )
        chips = "" if self.settings.bankroll_cents is None else f"; bankroll {bankroll / unit:.2f}"
        word = ruling.outcome.name.lower()
        out.print(Text(f"  {word}: net {ruling.net_cents / unit:+.2f} ({nets}){chips}"))
        if advice is None:
            return
        if advice.regret_cents:
            cost = f"costs {float(advice.regret_cents) / unit:.4f} in expectation"
            line = Text.assemble("  best in front: ", _cards(advice.best), f"; this one {cost}")
        else:
            line = Text("  set best")
        out.print(line)

    # ------------------------------------------------------------ around it

    def _show(
        self, state: State, mask: NDArray[np.bool_], signal: int | None, settings: EnvSettings
    ) -> None:
        """What a person sees before a decision, under the sheet known to be in force."""
        from niulab.envs.encoding import BETTING, Encoding

        out = console(stderr=self.is_json)
        unit = settings.rules.base_unit_cents
        if state.phase != BETTING:
            out.print(Text.assemble("\nyour hand  ", _cards(state.hand, numbered=True)))
            if settings.sees_dealer:
                out.print(Text.assemble("dealer's   ", _cards(state.dealer)))
            return
        standing = []
        if settings.bankroll_cents is not None:
            standing.append(f"bankroll {state.bankroll_cents / unit:.2f}")
        if settings.target_cents is not None:
            standing.append(f"target {settings.target_cents / unit:.2f}")
        if state.rounds_left is not None:
            standing.append(f"rounds left {state.rounds_left}")
        signals = Encoding(settings).signals
        if signals is not None and signal is not None:
            standing.append(f"you see: {signals.names[signal]}")
        if self.settings.sheets is not None and self.settings.rules_visible:
            standing.append(f"sheet {settings.rules.name}")
        menu = Text("  ").join(
            Text(f"{index}:{slip}", style="" if mask[index] else "dim strike")
            for index, slip in enumerate(settings.menu)
        )
        out.print(Text("\n" + ", ".join(standing)))
        out.print(Text.assemble("bets  ", menu, "" if settings.leave_action is None else "  leave"))

    def _say_hello(self) -> None:
        who = "" if self.player is None else f"{self.player.name} on "
        line = f"{who}{self.task} under {self.settings.rules_name}; seed {self.seed}"
        console(stderr=self.is_json).print(line, markup=False)

    def _say_goodbye(self, end: str) -> None:
        unit = self.settings.rules.base_unit_cents
        if self.is_json:
            coached = {} if not self.has_coach else {"regret_cents": float(self.regret_cents)}
            print_json_line(
                {
                    "task": self.task,
                    "rules": self.settings.rules_name,
                    "rules_hash": self.settings.rules_hash,
                    "player": None if self.player is None else self.player.name,
                    "seed": self.seed,
                    "rounds": self.n_played,
                    "net_cents": self.net_cents,
                    "end": end,
                    **coached,
                }
            )
            return
        plural = "round" if self.n_played == 1 else "rounds"
        line = f"\n{self.n_played} {plural}, net {self.net_cents / unit:+.2f}, ended by: {end}"
        if self.has_coach:
            line += f"; settings cost {float(self.regret_cents) / unit:.4f} in expectation"
        console().print(line, markup=False)


def _texts(cards: Iterable[int]) -> list[str]:
    from niulab.engine.cards import card_text

    return [card_text(card) for card in cards]


def _cards(cards: Iterable[int], *, numbered: bool = False) -> Text:
    """Cards with red suits red, and their places if asked for."""
    result = Text()
    for place, text in enumerate(_texts(cards), start=1):
        if numbered:
            result.append(f"{place}:", style="dim")
        result.append(text, style="red" if text[-1] in "HD" else "bold")
        result.append("  " if numbered else " ")
    result.rstrip()
    return result
