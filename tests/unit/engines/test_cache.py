"""The LRU cache of a system."""

import noslip as ns


def test_a_system_caches_what_is_made_for_it_and_evicts_the_least_recently_used():
    system = ns.compile(ns.derive(ns.load("chaplygin-sleigh")))
    made = []

    def make(k):
        return system.cached(("test", k), lambda: made.append(k) or k)

    assert [make(0), make(0)] == [0, 0]
    assert made == [0]
    for k in range(1, system._cache.max_entries + 1):
        make(k)
        make(1)  # used again and again, so never the least recently used
    assert ("test", 0) not in system._cache.keys()
    assert make(1) == 1
    assert made == list(range(system._cache.max_entries + 1))
