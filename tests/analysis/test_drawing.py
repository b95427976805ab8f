"""Figures are the same in every run, whatever else the process draws meanwhile."""

from __future__ import annotations

from threading import Event, Thread

from matplotlib import rcParams

from analysis.drawing import canvas


def test_one_figure_is_drawn_at_a_time() -> None:
    """The ids inside a picture follow from a setting of the whole process, which another figure would change."""
    entered = Event()

    def draw_another() -> None:
        with canvas("another", 1.0):
            entered.set()

    other = Thread(target=draw_another)
    with canvas("one", 1.0):
        other.start()
        assert not entered.wait(0.3)
        assert rcParams["svg.hashsalt"] == "one"
    other.join()
    assert entered.is_set()
