"""The small network behind a plain FastAPI, as its documentation does it.

`python -m uvicorn benchmarks.peers.fastapi_server:app --workers 2`
"""

import torch

torch.set_num_threads(1)


def network() -> torch.nn.Module:
    """Return the chapter's network, 784-100-10."""
    layers = torch.nn.Linear(784, 100), torch.nn.Sigmoid(), torch.nn.Linear(100, 10)
    return torch.nn.Sequential(*layers).eval()


def made():
    """Return an app that takes rows as JSON, checked by pydantic, and at another path float32 as raw bytes."""
    from fastapi import FastAPI, Request, Response
    from pydantic import BaseModel

    class Rows(BaseModel):
        rows: list[list[float]]

    app, model = FastAPI(), network()

    @app.post("/json")
    def as_json(rows: Rows):
        with torch.inference_mode():
            return {"scores": model(torch.tensor(rows.rows)).tolist()}

    @app.post("/bytes")
    async def as_bytes(request: Request):
        body = bytearray(await request.body())
        with torch.inference_mode():
            scores = model(torch.frombuffer(body, dtype=torch.float32).reshape(-1, 784))
        return Response(scores.numpy().tobytes(), media_type="application/octet-stream")

    return app
