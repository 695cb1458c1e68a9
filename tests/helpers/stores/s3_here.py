"""S3 in a process of its own on loopback: moto's server, with a bucket, which can be stopped, frozen and taken away."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.helpers.shells import eventually

BUCKET = "course-bucket"


class S3:
    """moto's server: `address` of the bucket, `environment` by which the packages of AWS use it and no account."""

    def __init__(self, folder, port):
        self.port = port
        self.address = f"s3://{BUCKET}"
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": f"{folder}/none",
            "AWS_SHARED_CREDENTIALS_FILE": f"{folder}/none",
        }
        with open(folder / "moto.log", "ab") as log:
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def answers(self):
        """Whether the port is open."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def client(self):
        """Return boto3's client, for what only an administrator does."""
        import boto3

        return boto3.client("s3", endpoint_url=self.environment["AWS_ENDPOINT_URL"])

    def freeze(self):
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.thaw()
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def s3_here(folder, port):
    """Within the `with`, an `S3` at `port` with an empty bucket, and this process's environment names it."""
    with contextlib.closing(S3(folder, port)) as s3, pytest.MonkeyPatch.context() as patch:
        for name, value in s3.environment.items():
            patch.setenv(name, value)
        eventually(s3.answers, 120)
        s3.client().create_bucket(Bucket=BUCKET)
        yield s3
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
