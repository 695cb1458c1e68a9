// A ring and a server that add up the same vectors: the twin of course/scale/all_reduce.py.

// What takes how many seconds for so many ranks, bytes, Gbit/s and µs of latency.
export function allReduce({ ranks, size, gigabits, latency }) {
  const [alone, late, steps] = [size / (gigabits * 1.25e8), latency / 1e6, 2 * (ranks - 1)];
  const step = late + alone / ranks;
  return {
    ranks,
    steps,
    step,
    alone,
    late,
    ring: steps * step,
    server: 2 * (late + ranks * alone),
    sent: (steps * size) / ranks,
    through: 2 * ranks * size,
    even: (late * gigabits * 1.25e8 * ranks * (ranks - 2)) / (ranks * ranks - ranks + 1),
  };
}

// By rank and piece, whose gradients are in it after so many steps of the ring: bit r is rank r's.
export function pieces(ranks, step) {
  const each = [...Array(ranks).keys()];
  let held = each.map((rank) => each.map(() => 1 << rank));
  for (let done = 0; done < step; done++) {
    held = held.map((mine, rank) => {
      const piece = (rank - done - 1 + 2 * ranks) % ranks;
      const arrived = held.at(rank - 1)[piece];
      return mine.with(piece, done < ranks - 1 ? mine[piece] | arrived : arrived);
    });
  }
  return held;
}

// Which piece a rank sends in a step, from 0.
export const outgoing = (ranks, rank, step) => (((rank - step) % ranks) + ranks) % ranks;

// What a server's worker does at a moment: [what, how far it is, 0 to 1]. A link carries one message after another.
export function served({ ranks, alone, late }, worker, now) {
  const answers = ranks * alone + late;
  const at = (begins) => (now - begins) / (alone + late);
  const [push, pull] = [at(worker * alone), at(answers + worker * alone)];
  if (push < 0) return ["waits to push", 0];
  if (push < 1) return ["pushes", push];
  if (pull < 0) return ["waits for the answer", 0];
  return pull < 1 ? ["pulls", pull] : ["has the sum", 1];
}
