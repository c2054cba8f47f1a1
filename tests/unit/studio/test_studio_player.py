"""The player of the studio: which moment of a run is shown."""

import pytest

from noslip.studio.page.control_panels import Player


@pytest.fixture
def player():
    made = Player()
    made.take(0.0, 10.0, now=100.0)
    return made


def test_it_plays_in_real_time_and_stays_when_paused(player):
    player.play(100.0)
    assert player.time(102.5) == pytest.approx(2.5)
    player.pause(103.0)
    assert player.time(110.0) == pytest.approx(3.0)
    assert not player.is_playing


def test_speed_changes_from_where_it_is(player):
    player.play(100.0)
    player.set_speed(4.0, 101.0)
    assert player.time(102.0) == pytest.approx(5.0)


def test_it_loops_or_stops_at_the_end(player):
    player.play(100.0)
    assert player.time(112.0) == pytest.approx(2.0)
    player.loop = False
    player.jump(9.0, 120.0)
    assert player.time(125.0) == 10.0
    assert not player.is_playing
    # playing again starts over
    player.play(130.0)
    assert player.time(131.0) == pytest.approx(1.0)


def test_another_run_keeps_the_moment_if_it_has_it(player):
    player.jump(8.0, 100.0)
    player.take(0.0, 20.0, 100.0)
    assert player.time(100.0) == 8.0
    player.take(0.0, 5.0, 100.0)
    assert player.time(100.0) == 5.0


def test_jumps_stay_within_the_run(player):
    player.jump(-3.0, 100.0)
    assert player.time(100.0) == 0.0
    player.jump(30.0, 100.0)
    assert player.time(100.0) == 10.0


def test_a_run_of_no_length_does_not_play(player):
    player.take(2.0, 2.0, 100.0)
    player.play(100.0)
    assert player.time(105.0) == 2.0
    assert not player.is_playing
