"""The directive ``commands``: every command of ``latentsimplex`` with its help, as the terminal shows it."""

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from latentsimplex.cli import main

WIDTH = 84


class Commands(SphinxDirective):
    """A section for each command of the command line."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, in the order of the commands' names."""
        return [self.section(name, command) for name, command in sorted(main.commands.items())]

    def section(self, name: str, command: click.Command) -> nodes.section:
        """Return a command's name as a heading above its help."""
        section = nodes.section(ids=[nodes.make_id(f"latentsimplex-{name}")])
        self.state.document.note_implicit_target(section)
        with click.Context(main, info_name="latentsimplex", max_content_width=WIDTH) as parent:
            context = click.Context(
                command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
            )
            text = command.get_help(context)
        section += nodes.title(name, name)
        section += nodes.literal_block(text, text, language="text")
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
