r"""Equations as MathML, which browsers set by themselves: no script, no font, nothing to load.

Pages have them in the two forms that code hosts show as well: a fence called ``math``, and within
a line a dollar and a backtick, ``$`x^2`$``.
"""

import re

from latex2mathml.converter import convert

_FENCE = re.compile(r"^```math\n(?P<tex>.*?)^```$", re.DOTALL | re.MULTILINE)
_WITHIN = re.compile(r"\$`(?P<tex>[^`]+)`\$")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Set the equations of a page."""
    markdown = _FENCE.sub(
        lambda found: f'<div class="equation">{_set(found["tex"], "block")}</div>', markdown
    )
    # In a span, because a line that begins with <math> would end the paragraph.
    return _WITHIN.sub(lambda found: f"<span>{_set(found['tex'], 'inline')}</span>", markdown)


def _set(tex: str, display: str) -> str:
    return str(convert(tex.strip(), display=display))
