"""The page of the command line, from the commands themselves."""

import inspect

import click

from noslip.cli import main


def write(path):
    """Every command with its arguments and options."""
    group = click.Context(main, info_name="noslip")
    lines = [
        "# Command line",
        "",
        "Every command has `--help`; `--json`, where a command has it, prints JSON for programs.",
        "",
    ]
    lines += [
        "`--plugin MODULE` loads joints, forces or formats of your own; every command has it.",
        "",
    ]
    lines += ["`MODEL` is a name from `noslip list` or the path of a model file.", ""]
    for name in main.list_commands(group):
        command = main.get_command(group, name)
        context = click.Context(command, info_name=name, parent=group)
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f"## noslip {name}", "", "```sh", f"noslip {name} {usage}", "```", ""]
        lines += [*inspect.cleandoc(command.help or "").replace("\b\n", "").splitlines(), ""]
        rows = []
        for parameter in command.params:
            record = parameter.get_help_record(context)
            if record and parameter.name != "plugins":
                rows.append(
                    "| " + " | ".join(f"{_cell(x, k == 0)}" for k, x in enumerate(record)) + " |"
                )
        if rows:
            lines += ["| option | meaning |", "|---|---|", *rows, ""]
    path.write_text("\n".join(lines), "utf-8")


def _cell(text, is_code):
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text}`" if is_code else text.replace("<", "\\<")
