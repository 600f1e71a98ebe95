"""How an index page looks, and the policy that lets a browser apply this style and nothing else."""

import base64
import hashlib
from typing import Final

STYLE: Final = """
:root { color-scheme: light dark;
  --back: #fff; --text: #1f2328; --dim: #59636e; --link: #0550ae; --seen: #6e3fb3 }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --text: #e6e9ec; --dim: #9aa4ae; --link: #79b8ff; --seen: #c9a5f7 }
}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.375rem; line-height: 1.3; overflow-wrap: anywhere }
p { margin: .25rem 0 1rem; color: var(--dim); font-size: .875rem }
pre { margin: 0; padding-bottom: 1rem; overflow-x: auto; color: var(--dim);
  font: .875rem/1.6 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
a { color: var(--link); text-decoration: none }
a:visited { color: var(--seen) }
a:hover, a:focus-visible { text-decoration: underline }
span::after { content: attr(data-size) }
@media (max-width: 54rem) {
  body { padding: 1rem }
  pre { white-space: pre-line; overflow-wrap: anywhere; font-size: .8125rem }
  a { display: block; padding-top: .625rem; font-size: .9375rem; line-height: 1.4 }
  a:first-child { display: inline-block }
  span::after { content: "(" attr(data-size) ")" }
}
"""


def make_policy() -> str:
    """Allow the page its own style, an icon of the site, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    style = f"style-src 'sha256-{digest}'"
    return f"default-src 'none'; {style}; img-src 'self'; base-uri 'none'; form-action 'none'"
