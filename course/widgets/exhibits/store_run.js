// A parameter server and its workers: the twin of course/scale/parameter_store.py, in whole microseconds.
// A gradient is [worker, version, sent, begins, ends, arrives, applied, freed, step], NEVER for what did not happen.

const NEVER = -1;
const [WORKER, VERSION, SENT, BEGINS, ENDS, ARRIVES, APPLIED, FREED, STEP] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

// `times`: { message, update, horizon }; faults are [microsecond, "kill" or "revive", worker].
export function storeRun(mode, paces, faults, seed, { message, update, horizon }) {
  const sync = mode === "sync";
  const chance = paces.map((_, worker) => uniforms(1000 * seed + worker));
  const [rows, turn] = [[], paces.map(() => NEVER)];
  let [free, version, waiting] = [0, 0, []];
  const sooner = (one, other) => {
    const at = one.findIndex((part, place) => part !== other[place]);
    return at >= 0 && one[at] < other[at];
  };
  const planned = [...faults].sort((one, other) => one[0] - other[0] || (one[1] < other[1] ? -1 : one[1] > other[1] ? 1 : 0) || one[2] - other[2]);
  const coming = planned.map(([at, , worker], place) => [at, 0, worker, place]);

  const answer = (now, worker) => {
    const takes = Math.floor(paces[worker] * (0.8 + 0.4 * chance[worker]()));
    const begins = now + message;
    turn[worker] = rows.length;
    coming.push([begins + takes + message, 1, worker, rows.length]);
    rows.push([worker, version, now, begins, begins + takes, begins + takes + message, NEVER, NEVER, NEVER]);
  };
  const apply = (now) => {
    [free, version] = [Math.max(free, now) + update, version + 1];
    const used = waiting.sort((one, other) => rows[one][WORKER] - rows[other][WORKER] || one - other);
    waiting = [];
    for (const place of used) {
      [rows[place][APPLIED], rows[place][STEP]] = [free, version];
      if (turn[rows[place][WORKER]] === place) rows[place][FREED] = free;
    }
    for (const place of used) if (turn[rows[place][WORKER]] === place) answer(free, rows[place][WORKER]);
  };
  const release = (now) => {
    if (waiting.length && turn.every((place) => place === NEVER || waiting.includes(place))) apply(now);
  };
  const kill = (now, worker) => {
    const place = turn[worker];
    turn[worker] = NEVER;
    if (place === NEVER) return;
    const row = rows[place];
    const ended = Math.max(now, row[SENT]);
    if (now < row[ENDS]) [row[BEGINS], row[ENDS], row[ARRIVES]] = [Math.min(row[BEGINS], ended), ended, NEVER];
    row[FREED] = ended;
    if (sync) release(now);
  };
  const arrives = (now, place) => {
    const row = rows[place];
    if (row[ARRIVES] === NEVER) return;
    if (sync && row[VERSION] !== version) return void (row[APPLIED] = now);
    if (!sync) return waiting.push(place), apply(now);
    for (const old of waiting.filter((one) => rows[one][WORKER] === row[WORKER])) rows[old][APPLIED] = now;
    waiting = [...waiting.filter((one) => rows[one][WORKER] !== row[WORKER]), place];
    release(now);
  };

  paces.forEach((_, worker) => answer(0, worker));
  for (;;) {
    const next = coming.reduce((first, one, at) => (first < 0 || sooner(one, coming[first]) ? at : first), -1);
    if (next < 0 || coming[next][0] >= horizon) break;
    const [[now, kind, worker, place]] = coming.splice(next, 1);
    if (kind) arrives(now, place);
    else if (planned[place][1] === "kill") kill(now, worker);
    else if (turn[worker] === NEVER) answer(Math.max(now, free), worker);
  }
  rows.sort((one, other) => one[SENT] - other[SENT] || one[WORKER] - other[WORKER]);
  return { workers: paces.length, horizon, gradients: rows, faults: planned };
}

// What had happened by a moment; `waited` is in microseconds, one of each worker.
export function counts(run, now = run.horizon) {
  const used = run.gradients.filter((one) => one[STEP] !== NEVER && one[APPLIED] <= now);
  const ages = used.map((one) => one[STEP] - 1 - one[VERSION]);
  const waited = Array(run.workers).fill(0);
  for (const one of run.gradients) {
    if (one[ARRIVES] !== NEVER && one[ARRIVES] < now) waited[one[WORKER]] += Math.max(0, (one[FREED] === NEVER ? now : Math.min(one[FREED], now)) - one[ARRIVES]);
  }
  const late = ages.reduce((sum, age) => sum + age, 0);
  return { updates: new Set(used.map((one) => one[STEP])).size, gradients: used.length, late, oldest: Math.max(0, ...ages), waited };
}

export function lateness(run, worker) {
  const ages = run.gradients.filter((one) => one[WORKER] === worker && one[STEP] !== NEVER).map((one) => one[STEP] - 1 - one[VERSION]);
  return ages.length ? ages.reduce((sum, age) => sum + age, 0) / ages.length : 0;
}

// Where a worker is at a moment: { what, gradient, share }, `what` being "dead", or one of
// "pulls", "computes", "pushes", "waits"; `share` says how much of that is done. Null before it has begun.
export function standing(run, worker, now) {
  const own = run.gradients.filter((one) => one[WORKER] === worker && one[SENT] <= now);
  const gradient = own.at(-1);
  const dead = run.faults.filter(([at, , who]) => who === worker && at <= now).at(-1)?.[1] === "kill";
  if (!gradient) return null;
  if (dead) return { what: "dead", gradient, share: 1 };
  const part = (from, to) => (to > from ? Math.min(1, (now - from) / (to - from)) : 1);
  if (now < gradient[BEGINS]) return { what: "pulls", gradient, share: part(gradient[SENT], gradient[BEGINS]) };
  if (now < gradient[ENDS]) return { what: "computes", gradient, share: part(gradient[BEGINS], gradient[ENDS]) };
  if (now < gradient[ARRIVES]) return { what: "pushes", gradient, share: part(gradient[ENDS], gradient[ARRIVES]) };
  return { what: "waits", gradient, share: 1 };
}

export const versionAt = (run, now) => Math.max(0, ...run.gradients.map((one) => (one[STEP] !== NEVER && one[APPLIED] <= now ? one[STEP] : 0)));
