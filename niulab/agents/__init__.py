"""Who decides: the protocol, the baselines, and whatever can be turned into an agent.

Trained models live in ``models``, which imports torch; this does not.
"""

from __future__ import annotations

from niulab.agents.base import Agent, CallableAgent, HandSetter, PredictAgent, StochasticAgent
from niulab.agents.by_hand import HandAgent, TableAgent
from niulab.agents.registry import agent_names, as_agent, make_agent

__all__ = [
    "Agent",
    "CallableAgent",
    "HandAgent",
    "HandSetter",
    "PredictAgent",
    "StochasticAgent",
    "TableAgent",
    "agent_names",
    "as_agent",
    "make_agent",
]
