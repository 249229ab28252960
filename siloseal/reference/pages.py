"""The generated pages by file name. A new one is a function that returns Markdown, and a line here."""

from collections.abc import Callable, Mapping

from siloseal.reference.cli_page import cli_page
from siloseal.reference.config_page import config_page
from siloseal.reference.sums_page import sums_page

PAGES: Mapping[str, Callable[[], str]] = {
    "config.md": config_page,
    "cli.md": cli_page,
    "sums.md": sums_page,
}
