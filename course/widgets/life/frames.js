// Boards to come, from the kernel: asked for before they are needed, several in one message, so that the way there and
// back is waited for once. A board of a generation is the same whoever computes it: what comes too late is left out.

const IN_FLIGHT = 3; // requests
const BATCH = 6; // boards in one answer, when it plays fast
const AHEAD = 24; // boards that are asked for or wait to be shown

function framesAhead(state, world) {
  let [queue, flying, heard, reached] = [[], [], 0, 0];
  const clear = () => ([queue, reached] = [[], 0]);
  const waiting = () => flying.reduce((sum, count) => sum + count, queue.length);
  return {
    clear,
    // Keeps requests in flight; `settings` are those of the board that is played, `by` the generations of a frame.
    ask(settings, by, speed) {
      const [batch, most] = speed >= 30 ? [BATCH, AHEAD] : [1, 4]; // slowly played, the kernel needs no long lead
      while (flying.length < IN_FLIGHT && waiting() + batch <= most) {
        const { rule, wrap, engine_name } = settings;
        if (!state.post({ frames: { edition: world.edition, rule, wrap, engine_name, by, count: batch } })) return (flying = []);
        if (!flying.length) heard = performance.now();
        flying.push(batch);
      }
    },
    // A message with frames; true where the kernel has fallen behind what is shown, and needs the board that is.
    take({ edition, frames }, buffers) {
      flying.shift();
      heard = performance.now();
      if (edition !== world.edition) return false;
      frames.forEach((frame, place) => queue.push({ ...frame, bits: buffers[place] }));
      reached = frames.at(-1)?.generation ?? reached;
      return frames.length > 0 && reached <= world.generation;
    },
    next() {
      while (queue.length && queue[0].generation <= world.generation) queue.shift();
      return queue.shift() ?? null;
    },
    lost: () => (flying = []), // the kernel is gone, and what it owed
    late: (most) => !flying.length || performance.now() - heard > most,
  };
}
