"""The Open Inference Protocol v2 over HTTP, with binary tensors, and over gRPC: bytes to arrays and back, errors.

Sources: github.com/kserve/open-inference-protocol, specification/protocol/inference_rest.md, and the binary tensor data
extension of the Triton Inference Server, docs/protocol/extension_binary_data.md; `open_inference_grpc.proto` is the
protocol's own, under the licence in it. Nothing here knows of sockets.
"""
