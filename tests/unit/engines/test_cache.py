"""The LRU cache of a system, and its keys."""

from dataclasses import dataclass

import numpy as np

import noslip as ns
from noslip.base import value_key


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


@dataclass(frozen=True)
class Value:
    held: object


@dataclass
class Changeable:
    held: float


@dataclass(frozen=True, eq=False)
class Law:
    held: float


def test_a_frozen_data_class_is_its_own_key_and_nothing_else_is():
    assert value_key(Value(1.0)) == value_key(Value(1.0)) != value_key(Value(2.0))
    for other in (Value([1.0]), Value(np.zeros(2)), Changeable(1.0), Law(1.0), object(), 1.0):
        assert value_key(other) is None
