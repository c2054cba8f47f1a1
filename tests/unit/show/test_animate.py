"""Animations as files: what is in them, against the frames they show; pictures; past runs."""

import os
import re
import shutil
import stat
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from recordings import read_recording

import noslip as ns
from noslip.cli import main
from noslip.scene import Camera, Film, frames, scene
from noslip.scene.film import nearest_pixels, shadows
from noslip.scene.overlays import CameraView
from noslip.show import recorded
from noslip.show.animate import film_rate


@pytest.fixture(scope="module")
def carriage(system_of):
    system = system_of("carriage")
    return system, ns.run_scenario(system, duration=2.0)


# HTML


def test_a_recording_has_the_poses_of_the_frames(carriage, tmp_path):
    system, run = carriage
    path = ns.animate(run, tmp_path / "carriage.html", system=system, rate=20.0)
    recording = read_recording(path.read_text(encoding="utf-8"))
    film = frames(system, run, rate=20.0)
    assert recording.duration == pytest.approx(2.0, abs=1e-9)
    for index in (0, 7, 23, 40):
        for k, body in enumerate(film.bodies):
            for kind, values in (("position", film.positions), ("wxyz", film.quaternions)):
                shown = recording.last(kind, f"/noslip/{body}", film.times[index])
                assert np.abs(shown - values[index, k]).max() < 1e-12
    assert np.ptp(film.positions, axis=0).max() > 0.5


def test_a_page_needs_nothing_from_anywhere(carriage, tmp_path):
    system, run = carriage
    html = ns.animate(run, tmp_path / "carriage.html", system=system).read_text(encoding="utf-8")
    assert "<title>carriage - noslip</title>" in html
    outside = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(https?:[^"')\s]+)""", html)
    assert outside == []
    assert len(html) < 1.5e6
    assert [p.name for p in tmp_path.iterdir()] == ["carriage.html"]


def test_speed_shortens_the_recording_and_thins_its_pictures(carriage):
    system, run = carriage
    html = recorded(system, run, speed=4.0, rate=30.0).page
    recording = read_recording(html)
    assert recording.duration == pytest.approx(0.5, abs=1e-9)
    times = {at for at, _ in recording.messages}
    assert len(times) == 16


def test_what_is_asked_for_is_in_the_scene(carriage):
    system, run = carriage
    bare = read_recording(recorded(system, run, traces=False, rate=2.0).page).names()
    full = read_recording(
        recorded(system, run, forces=True, velocities=True, rate=2.0).page
    ).names()
    assert not [n for n in bare if "/traces" in n or "/forces" in n or "/velocities" in n]
    assert {"/noslip/forces/0/arrow", "/noslip/velocities/0/arrow"} <= full
    assert "/noslip/traces/wheel1.contact/all" in full and "/noslip/ground0" in full


def test_following_moves_the_whole_stage_against_the_bodies(carriage):
    system, run = carriage
    recording = read_recording(recorded(system, run, follow=True, rate=5.0).page)
    film = frames(system, run, rate=5.0)
    moved = film.centers.mean(axis=1) - film.centers[0].mean(axis=0)
    stage = recording.last("position", "/noslip", 2.0)
    assert np.abs(stage + moved[-1] * [1, 1, 0]).max() < 1e-12
    assert np.abs(stage).max() > 0.5


def test_a_long_run_gets_fewer_pictures_a_second(carriage):
    _, run = carriage
    assert film_rate(run, None, 1.0, ".html") == 30.0
    assert film_rate(run, 1e3, 1.0, ".gif") == pytest.approx(300.0)
    with pytest.raises(ns.SimulationError, match="rate"):
        film_rate(run, 1e6, 1.0, ".gif")
    assert film_rate(run, None, 1e-4, ".html") == pytest.approx(3600 / 2e4)


# films and pictures


def test_a_gif_has_the_pictures_of_the_frames(carriage, tmp_path):
    system, run = carriage
    path = ns.animate(
        run, tmp_path / "carriage.gif", system=system, rate=5.0, width=200, height=120
    )
    with Image.open(path) as film:
        assert (film.format, film.size, film.n_frames) == ("GIF", (200, 120), 11)
        assert film.info["duration"] == 200 and film.info["loop"] == 0
        pictures = []
        for index in (0, 5, 10):
            film.seek(index)
            pictures.append(np.asarray(film.convert("RGB"), dtype=int))
    for a, b in ((0, 1), (1, 2)):
        assert np.mean(np.abs(pictures[a] - pictures[b]).max(axis=2) > 40) > 0.02


def test_a_picture_shows_the_end_of_the_run(carriage, tmp_path):
    system, run = carriage
    path = ns.animate(run, tmp_path / "carriage.png", system=system, width=300, height=200)
    with Image.open(path) as picture:
        written = np.asarray(picture)
    drawn = np.asarray(ns.picture(run, width=300, height=200, caption="carriage"))
    assert written.shape == (200, 300, 3) and np.array_equal(written, drawn)
    earlier = np.asarray(ns.picture(run, time=0.0, width=300, height=200, caption="carriage"))
    assert np.mean(np.any(written != earlier, axis=2)) > 0.02


def test_a_picture_of_several_times_has_the_last_as_it_is_and_the_others_paler(carriage):
    system, run = carriage
    options = {"system": system, "traces": False, "width": 300, "height": 200}
    start, end, both = (
        np.asarray(ns.picture(run, time=time, **options), dtype=int) for time in (0, 2.0, (0, 2.0))
    )
    # dark parts of the vehicle where the other picture has nothing but ground
    here, gone = (
        np.all(body < 130, axis=2) & np.all(ground > 245, axis=2)
        for body, ground in ((end, start), (start, end))
    )
    assert min(here.sum(), gone.sum()) > 200
    assert np.array_equal(both[here], end[here])
    dark, between, light = (np.mean(picture[gone], axis=1) for picture in (start, both, end))
    assert np.all(between > dark) and np.all(between < light)
    assert 50 < np.mean(between - dark) < np.mean(light - dark) - 50
    assert np.array_equal(np.asarray(ns.picture(run, time=(), **options)), end)


@pytest.mark.parametrize(("width", "height"), [(480, 300), (960, 600), (200, 100)])
def test_words_have_a_strip_of_their_own(carriage, width, height):
    """Below them the picture is that of a film without words, and none is cut at the right."""
    system, run = carriage
    drawn, motion = scene(run.model), frames(system, run, rate=10.0)
    options = {"traces": True, "width": width}
    whole = np.asarray(
        Film(scene=drawn, frames=motion, caption="carriage", height=height, **options).picture(
            len(motion) - 1
        )
    )
    film = Film(scene=drawn, frames=motion, caption="carriage", height=height, **options)
    strip = height - film._tall
    assert 0.05 * height < strip < 0.35 * height
    bare = np.asarray(
        Film(scene=drawn, frames=motion, caption=None, height=height - strip, **options).picture(
            len(motion) - 1
        )
    )
    assert np.array_equal(whole[strip:], bare)
    is_ink = np.any(whole[:strip] != whole[0, -1], axis=2)
    assert is_ink.any() and not is_ink[:, -6:].any() and not is_ink[-2:].any()


def test_what_stands_still_is_drawn_once(system_of):
    system = system_of("manipulator-6r")
    run = ns.run_scenario(system)
    options = {"system": system, "traces": False, "width": 300, "height": 200}
    end, both = (np.asarray(ns.picture(run, time=time, **options)) for time in (2.0, (0, 2.0)))
    base = np.all(end < 70, axis=2)
    base[:130] = False
    assert base.sum() > 300 and np.mean(np.all(both == end, axis=2)[base]) > 0.98


def test_mp4_without_ffmpeg_says_what_to_do(carriage, tmp_path, monkeypatch, refuses):
    monkeypatch.setenv("PATH", str(tmp_path))
    with refuses(ns.SimulationError, "ffmpeg, which is not installed", "x.mp4", "install ffmpeg"):
        ns.animate(carriage[1], tmp_path / "x.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_ffmpeg_writes_an_mp4(carriage, tmp_path):
    path = ns.animate(carriage[1], tmp_path / "x.mp4", rate=5.0, width=160, height=100)
    assert path.read_bytes()[4:8] == b"ftyp"


def program(folder, text):
    """A program named ffmpeg that is a few lines of Python."""
    path = folder / "ffmpeg"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_film_program_gets_every_picture_and_its_complaint_is_told(
    carriage, tmp_path, monkeypatch, refuses
):
    system, run = carriage
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    program(
        tools,
        "import sys\nopen(sys.argv[-1], 'wb').write(repr(sys.argv).encode() + b'\\n')\n"
        "open(sys.argv[-1], 'ab').write(sys.stdin.buffer.read())\n",
    )
    path = ns.animate(
        run, tmp_path / "x.mp4", system=system, rate=2.0, width=61, height=41, traces=False
    )
    arguments, pictures = path.read_bytes().split(b"\n", 1)
    assert b"'60x40'" in arguments and b"'2'" in arguments
    assert len(pictures) == 5 * 60 * 40 * 3
    program(tools, "import sys\nsys.stderr.write('no such codec\\n')\nsys.exit(3)\n")
    with refuses(ns.SimulationError, "no such codec", "part", ".gif"):
        ns.animate(run, tmp_path / "y.mp4", system=system, rate=2.0, width=60, height=40)
    assert not (tmp_path / "y.mp4").exists()


# the renderer


def test_the_nearest_triangle_of_each_pixel_is_that_of_a_ray(rng):
    """Rays through the middles of the pixels, cut with every triangle (Möller and Trumbore)."""
    view = CameraView(
        camera=Camera(
            position=np.zeros(3), look_at=np.array([0.0, 5.0, 0.0]), up=np.array([0.0, 0.0, 1.0])
        ),
        width=64,
        height=48,
    )
    corners = rng.uniform([-1.5, 3.0, -1.0], [1.5, 7.0, 1.0], (40, 3, 3))
    owner, place, values = nearest_pixels(view, view.seen(corners), np.zeros((40, 3, 1)))
    drawn = np.full(view.width * view.height, -1)
    drawn[place] = owner
    focal = view.height / 2 / np.tan(view.camera.field_of_view / 2)
    u, v = np.meshgrid(np.arange(64) + 0.5 - 32, np.arange(48) + 0.5 - 24)
    rays = (np.stack([u, v, np.full_like(u, focal)], axis=-1).reshape(-1, 3)) @ view.axes
    nearest, best = np.full(len(rays), -1), np.full(len(rays), np.inf)
    for k, (a, b, c) in enumerate(corners):
        e, f = b - a, c - a
        h = np.cross(rays, f)
        det = h @ e
        s = (h @ -a) / det
        w = np.cross(-a, e)
        t = (rays @ w) / det
        depth = (f @ w) / det
        hit = (s > 0) & (t > 0) & (s + t < 1) & (depth > 0) & (depth < best)
        nearest[hit], best[hit] = k, depth[hit]
    assert np.array_equal(drawn, nearest)
    assert np.mean(drawn >= 0) > 0.2 and values.shape[1] == 1


def test_shadows_lie_on_the_ground_along_the_light(rng):
    corners = rng.uniform(-1, 1, (5, 3, 3)) + [0, 0, 3]
    light = np.array([0.3, -0.2, 0.9])
    normal, origin = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.5])
    shadow = shadows(corners, normal, origin, light)
    assert np.allclose(shadow[..., 2], 0.5, atol=1e-14)
    assert np.allclose(np.cross(corners - shadow, light), 0, atol=1e-14)


# files and errors


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("x.avi", "cannot be written as '.avi'", ".html"),
        ("x", "cannot be written as 'x'", ".html"),
        ("nowhere/x.html", "no folder", "make it"),
    ],
)
def test_files_that_cannot_be_written_are_refused(carriage, tmp_path, refuses, name, what, fix):
    with refuses(ns.SimulationError, what, name, fix):
        ns.animate(carriage[1], tmp_path / name)


def test_speeds_and_rates_that_make_no_film_are_refused(carriage, tmp_path, refuses):
    for option in ({"rate": 0.0}, {"rate": 1e-12}, {"speed": -1.0}, {"speed": np.inf}):
        with refuses(ns.SimulationError, next(iter(option)), "carriage", "positive"):
            ns.animate(carriage[1], tmp_path / "x.html", **option)
    with pytest.raises(TypeError, match="a run is a Trajectory"):
        ns.animate("carriage", tmp_path / "x.html")


# the command


@pytest.fixture
def noslip(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        return CliRunner().invoke(main, ["animate", *arguments])

    return call


def test_the_command_writes_a_model_and_a_past_run(noslip):
    done = noslip("knife-edge", "--duration", "1", "--set", "slope=0.1", "--velocities")
    assert (done.exit_code, done.stderr) == (0, "")
    assert re.fullmatch(r"knife-edge\.html  \d\.\d MB, 1 s\n", done.stdout)
    assert CliRunner().invoke(main, ["run", "knife-edge", "-o", "out", "--no-plots"]).exit_code == 0
    done = noslip("out", "-o", "past.png", "--size", "200x100", "--no-traces")
    assert (done.exit_code, done.stderr) == (0, "")
    with Image.open("past.png") as picture:
        assert picture.size == (200, 100)
