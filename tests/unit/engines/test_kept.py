"""What a system keeps for whoever asks again."""

import noslip as ns
from noslip.engines.kept import MOST_KEPT


def test_a_system_keeps_what_is_made_for_it_and_lets_the_oldest_go():
    system = ns.compile(ns.derive(ns.load("chaplygin-sleigh")))
    made = []

    def make(k):
        return system.kept(("test", k), lambda: made.append(k) or k)

    assert [make(0), make(0)] == [0, 0]
    assert made == [0]
    for k in range(1, MOST_KEPT + 1):
        make(k)
        make(1)  # asked for again and again, so never the oldest
    assert ("test", 0) not in system._kept.keys()
    assert make(1) == 1
    assert made == list(range(MOST_KEPT + 1))
