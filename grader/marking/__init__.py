"""Asked, answered and judged: questions to a sandbox, evidence that comes out, and the marks made of it."""
