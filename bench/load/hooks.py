"""What a load calls of whoever runs it. Everything has a default that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.load.abort import Abort


@dataclass(frozen=True)
class Hooks:
    """Called on the thread that runs the load; what one of them raises ends it.

    - `on_progress`: a line of text, again and again
    - `watch`: asked again and again, must answer at once; ends the load by what it has seen beyond the generator
    - `before_start`: once a run, before its first message, with clients connected if they can wait; they do, for minutes, until
      it returns
    - `all_received`: once a run, when consumers have received as many as were acknowledged and are waited for only to see that
      nothing more comes. (Repeats count: with some, a few of the others may be under way yet.) Must return at once. Not of a run
      whose messages don't all arrive.
    """

    on_progress: Callable[[str], None] = lambda _text: None
    watch: Callable[[], Abort | None] = lambda: None
    before_start: Callable[[], None] = lambda: None
    all_received: Callable[[], None] = lambda: None


NO_HOOKS = Hooks()
