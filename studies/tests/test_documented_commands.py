"""Commands of the studies, wherever the documentation names them, exist with their options."""

import re
import shlex

from studies.__main__ import app
from tests.docs.blocks import pages
from tests.docs.test_docs import unknown

COMMAND = re.compile(r"python -m (studies [^`\n]*)")


def test_commands_of_the_documentation_exist_with_their_options() -> None:
    found = [line for page in pages() for line in COMMAND.findall(page.read_text())]
    assert len(found) >= 9
    wrong = {line: unknown(shlex.split(line, comments=True), app) for line in found}
    assert not any(wrong.values()), wrong
    assert unknown(["studies", "coverage", "--quik"], app) == ["--quik"]
    assert unknown(["studies", "simulate"], app) == ["simulate"]
