"""Images built by buildah from the Dockerfile, in a folder of their own, on a base that debootstrap makes."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BASE = "localhost/debian:bookworm"


class Engine:
    """buildah with its images in `folder`, where what is built stays for the next run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store = ["--root", str(self.folder / "images"), "--runroot", str(self.folder / "run")]

    def run(self, *arguments, **settings):
        """Run buildah; return what it wrote. Raises CalledProcessError."""
        settings = {"check": True, "stdout": subprocess.PIPE, "text": True} | settings
        return subprocess.run(["buildah", *self.store, *map(str, arguments)], **settings).stdout

    def make_base(self):
        """Make the base image, unless it is there: Debian's smallest system, from the mirror that this machine uses."""
        if BASE in self.run("images", "--format", "{{.Name}}:{{.Tag}}").split():
            return
        root = self.folder / "debian"
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", str(root), *_mirror()], check=True)
        container = self.run("from", "scratch").strip()
        self.run("add", "--quiet", container, root, "/")
        self.run("commit", "--quiet", "--rm", container, BASE)
        shutil.rmtree(root)

    def build(self, target):
        """Build the `target` of the Dockerfile on our base; what pip and apt fetch comes by this machine's settings."""
        image = ("--target", target, "--tag", f"localhost/course-{target}")
        file = ("--file", ROOT / "deploy" / "docker" / "Dockerfile", ROOT)
        self.run("build", *self.building(), *image, *file, stdout=None)

    def building(self):
        """Return the flags by which a build stands on our base, and fetches as this machine does."""
        given = [part for name, value in self._settings() for part in ("--volume", f"{name}:{value}:ro")]
        way = ["--isolation", "chroot", "--pull-never", "--layers", "--format", "docker"]
        return [*way, "--build-arg", f"BASE={BASE}", *given]

    def opened(self, target):
        """Return (a new container of the image, the folder that its file system is mounted at)."""
        container = self.run("from", "--pull-never", f"localhost/course-{target}").strip()
        return container, Path(self.run("mount", container).strip())

    def size(self, target):
        """Return the image's size in words, all of its layers together."""
        return self.run("images", "--format", "{{.Size}}", f"localhost/course-{target}").strip()

    def _settings(self):
        """Yield (file or folder here, where it is put while building): pip's settings, and what they name."""
        asked = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True)
        lines = re.findall(r"^(?:global|:env:|user|install)\.([\w-]+)=(.*)$", asked.stdout, re.M)
        settings = {name: ast.literal_eval(value) for name, value in lines}
        if certificates := settings.get("cert"):  # the image's own file is written while it is built
            yield certificates, "/etc/pip-certificates.pem"
            settings["cert"] = "/etc/pip-certificates.pem"
        words = " ".join(map(str, settings.values())).split()
        # an index on the disk names files that stand beside it
        named = {str(Path(word[7:]).parent) if word.startswith("file://") else word for word in words}
        for path in sorted(path for path in named if path.startswith("/") and Path(path).is_dir()):
            yield path, path
        written = self.folder / "pip.conf"
        written.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        yield written, "/etc/pip.conf"


def _mirror():
    """Return the mirror of Debian's packages that this machine uses, as a list of one, or of none."""
    written = [*Path("/etc/apt").glob("sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    found = re.findall(r"https?://[^\s]+/debian/?(?=\s)", "\n".join(path.read_text() for path in written))
    return found[:1]
