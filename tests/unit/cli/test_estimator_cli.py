"""`noslip track --estimator ekf`: sensors as text, columns and figures in the folder."""

from click.testing import CliRunner

from noslip.cli.main import main


def track(folder, *options):
    given = "track agv --path circle:2 --timing constant-speed:0.3 --controller pose --duration 1"
    arguments = [*given.split(), "--period", "0.05", "-o", str(folder / "run"), *options]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_a_track_by_estimates_leaves_columns_and_figures(tmp_path):
    told = track(
        tmp_path,
        *("--sensor", "odometry:wheels=wheel1,wheel2;sigma=0.02"),
        *("--sensor", "pose:body=platform,sigma=0.05,every=4"),
        *("--actuator", "torque1:sigma=0.02"),
        *("--estimator", "ekf", "--start-sigma", "platform.x=0.1", "--drift", "wheel1.rate=0.1"),
        *("--no-report", "--format", "csv"),
    )
    assert told.exit_code == 0, told.output
    header = (tmp_path / "run" / "trajectory.csv").read_text().splitlines()[0]
    for column in ("estimate.platform.x [m]", "covariance.platform.x,platform.y", "nees [1]"):
        assert column in header
    assert list((tmp_path / "run").rglob("estimate.png"))


def test_options_without_an_estimator_are_refused(tmp_path):
    told = track(tmp_path, "--start-sigma", "platform.x=0.1")
    assert told.exit_code == 2 and "add --estimator ekf" in told.output
    told = track(tmp_path, "--sensor", "gyroscope:body=platform")
    assert told.exit_code == 1 and "give an estimator" in told.output
