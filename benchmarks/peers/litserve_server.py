"""The small network behind LitServe, as its documentation does it: `python -m benchmarks.peers.litserve_server PORT`.

One process for HTTP, one that computes.
"""

import sys

import litserve
import torch

from benchmarks.peers.fastapi_server import network


class Api(litserve.LitAPI):
    """LitServe with its batching on, as its documentation sets it. Its worker finds the class by its name here."""

    def setup(self, device):
        """Make the model, in the worker."""
        torch.set_num_threads(1)
        self.model = network()

    def decode_request(self, request):
        """Return a request's rows."""
        return torch.tensor(request["rows"])

    def batch(self, inputs):
        """Return all rows together."""
        return torch.stack(inputs)

    def predict(self, rows):
        """Return all scores."""
        with torch.inference_mode():
            return self.model(rows)

    def unbatch(self, output):
        """Return the scores of each."""
        return list(output)

    def encode_response(self, output):
        """Return what becomes JSON."""
        return {"scores": output.tolist()}


if __name__ == "__main__":
    server = litserve.LitServer(Api(max_batch_size=64, batch_timeout=0.001), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), num_api_servers=1, generate_client_file=False, log_level="error")
