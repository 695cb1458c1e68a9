"""Set the address of the published repository everywhere: `make publish REPOSITORY=https://github.com/OWNER/NAME`.

It stands in one place, `[tool.course] repository` in pyproject.toml; the package's links, the README's Binder badge and
CITATION.cff follow from it. Until it is set none of them is there. `REPOSITORY=none` takes it away again.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
FIRST = "notebooks/00_start_here.ipynb"
#: Binder's own names for hosts of repositories; of any other it wants the whole address.
PROVIDERS = {"github.com": "gh", "gitlab.com": "gl"}
BADGE = """
**In the browser**, with nothing installed:
[![Open on Binder](https://mybinder.org/badge_logo.svg)]({binder})
"""


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Set the address that the command line names, or write the files again from the present one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", nargs="?", help='its https address, or "none"; left out: as it is set')
    chosen = parser.parse_args(arguments).repository
    address = setting(root) if not chosen else "" if chosen == "none" else checked(chosen)
    for name, text in made(address, root).items():
        (root / name).write_text(text, encoding="utf-8")
    print(f"The repository is {address or 'not published'}: pyproject.toml, README.md and CITATION.cff say so.")
    return 0


def setting(root: Path = ROOT) -> str:
    """Return the address that pyproject.toml states; "" where there is none."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]["repository"]


def checked(address: str) -> str:
    """Return `address` without a slash or ".git" at its end; exits with a sentence where it is no repository's."""
    address = address.strip().removesuffix("/").removesuffix(".git")
    parts = urlsplit(address)
    if parts.scheme != "https" or not re.fullmatch(r"(/[\w.-]+){2,}", parts.path) or parts.query or parts.fragment:
        sys.exit(f"publish: {address!r} is no repository's address. Give one as in https://github.com/OWNER/NAME.")
    return address


def made(address: str, root: Path = ROOT) -> dict[str, str]:
    """Return name -> text of the files that hold `address`; "" for none."""
    files = {
        name: (root / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "README.md", "CITATION.cff")
    }
    project = re.sub(r'(?m)^repository = ".*"$', f'repository = "{address}"', files["pyproject.toml"])
    project = re.sub(r"\[project\.urls\]\n(?:.+\n)*\n", "", project)
    if address:
        project = project.replace("[tool.hatch", f'[project.urls]\nSource = "{address}"\n\n[tool.hatch', 1)
    badge = BADGE.format(binder=binder(address)) if address else ""
    readme = re.sub(
        r"(?s)(<!-- binder -->\n).*?(<!-- /binder -->)", lambda m: m[1] + badge.lstrip() + m[2], files["README.md"]
    )
    citation = re.sub(r"(?m)^repository-code: .*\n", "", files["CITATION.cff"])
    if address:
        citation = citation.replace("keywords:", f'repository-code: "{address}"\nkeywords:', 1)
    return {"pyproject.toml": project, "README.md": readme, "CITATION.cff": citation}


def binder(address: str) -> str:
    """Return the address at which Binder opens the first chapter of the repository at `address`."""
    parts = urlsplit(address)
    provider = PROVIDERS.get(parts.netloc, "git")
    path = parts.path.strip("/")
    which = {"gh": path, "gl": quote(path, safe=""), "git": quote(address, safe="")}[provider]
    return f"https://mybinder.org/v2/{provider}/{which}/HEAD?urlpath={quote(f'lab/tree/{FIRST}', safe='')}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
