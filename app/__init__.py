"""hostdx: what a person meets (command line, runner, journal, report, terminal app)."""

__version__ = "0.1.0"
