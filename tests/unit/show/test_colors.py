"""The same thing has the same color in plots and in pictures."""

from runs_to_plot import lines_of, run_of

import noslip as ns
from noslip.show import colors
from noslip.show.scene import overlays
from noslip.show.scene.meshes import rgb


def test_paths_have_the_colors_of_the_traces():
    figure = ns.plot(run_of("agv"), "path")
    found = {name: rgb(lines[0].get_color()) for name, lines in lines_of(figure).items()}
    assert found["platform"] == overlays.CENTER_TRACE
    contacts = [f"wheel{k} contact" for k in (1, 2, 3)]
    assert {found[name] for name in contacts} == {overlays.CONTACT_TRACE}
    # contacts are told apart by their dashes
    assert [lines_of(figure)[name][0].is_dashed() for name in contacts] == [False, True, True]


def test_roles_that_are_seen_together_differ():
    roles = (colors.BODY_PATH, colors.CONTACT_PATH, colors.ESTIMATE, colors.FORCE, colors.VELOCITY)
    assert len(set(roles)) == len(roles) and set(roles) <= set(colors.PALETTE)
