"""Ctrl-C in the middle of work, for tests of what hears it."""

import os
import signal


def interrupt_at(monkeypatch, room, name, call):
    """Send an interrupt when the function ``name`` of a module ends its n-th call; returns a list
    that grows by one with each.
    """
    real, calls = getattr(room, name), []

    def interrupted(*arguments):
        calls.append(name)
        result = real(*arguments)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(room, name, interrupted)
    return calls
