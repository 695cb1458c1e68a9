"""The Open Inference Protocol v2 over HTTP, with binary tensors: bytes to arrays, arrays to bytes, errors.

Sources: github.com/kserve/open-inference-protocol, specification/protocol/inference_rest.md, and the binary tensor data
extension of the Triton Inference Server, docs/protocol/extension_binary_data.md. Nothing here knows of sockets.
"""
