"""A data base for a Slurm of our own: mariadbd and slurmdbd in its folder, on free ports of loopback."""

import os
import secrets
import shutil
import subprocess

import pytest

from tests.course.deploy.slurm_here import PATH, eventually_ready
from tests.helpers.cluster.ports import free_ports

NEEDS = ("slurmdbd", "mariadbd", "my_print_defaults")
_SLURMDBD = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={daemon}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={store}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm
"""
_FIRST = """\
CREATE DATABASE slurm;
CREATE USER 'slurm'@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm.* TO 'slurm'@'127.0.0.1';
"""


def need_accounting():
    """Skip the file aloud where there is no data base of Slurm's."""
    lacking = [name for name in NEEDS if shutil.which(name, path=PATH) is None]
    if lacking:
        packages = "`apt install --no-install-recommends slurmdbd mariadb-server-core mariadb-client-core` on Debian"
        pytest.skip(f"NOT TESTED HERE, there is no {lacking[0]}: {packages}", allow_module_level=True)


class Accounting:
    """The data base of one Slurm: `changes` are for its configuration, `start` is for `slurm_here(before=…)`."""

    def __init__(self):
        self._store, self._daemon = free_ports(2)

    @property
    def changes(self):
        """The lines that make a Slurm use it, and refuse what it doesn't know."""
        return {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePass": "{folder}/munge.socket",
            "AccountingStoragePort": str(self._daemon),
            "AccountingStorageEnforce": "associations,limits,qos",
        }

    def start(self, here):
        """Start both daemons, and tell the data base of the cluster, an account and the user who runs this."""
        folder, password = here.folder, secrets.token_hex(16)
        values = {"folder": folder, "user": here.owner, "password": password}
        values |= {"daemon": self._daemon, "store": self._store}
        for name, text in (("slurmdbd.conf", _SLURMDBD), ("first.sql", _FIRST)):
            (folder / name).write_text(text.format(**values))
            os.chmod(folder / name, 0o600)
        data = [f"--datadir={folder}/mariadb", f"--user={here.owner}"]
        made = ["mariadb-install-db", "--no-defaults", *data, "--auth-root-authentication-method=normal"]
        subprocess.run(made, check=True, capture_output=True, timeout=120, env=os.environ | {"PATH": PATH})
        where = [f"--port={self._store}", "--bind-address=127.0.0.1", f"--socket={folder}/mariadb.socket"]
        small = ["--innodb-buffer-pool-size=32M", "--skip-name-resolve", "--skip-log-bin"]
        files = [f"--pid-file={folder}/mariadb.pid", f"--init-file={folder}/first.sql"]
        here.start("mariadbd", "mariadbd", "--no-defaults", *data, *where, *small, *files)
        eventually_ready(lambda: (folder / "mariadb.pid").exists(), here)
        here.start("slurmdbd", "slurmdbd", "-D")
        eventually_ready(lambda: here.run("sacctmgr", "-i", "add", "cluster", "here", check=False), here)
        here.run("sacctmgr", "-i", "add", "account", "physics", "Description=physics")
        here.run("sacctmgr", "-i", "add", "user", here.owner, "Account=physics")
