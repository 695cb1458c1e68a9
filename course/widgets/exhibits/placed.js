// What a placement comes to: the twin of `replay` and `best` in course/devices/explore.py, in seconds and bytes.

// `figures`: { steps: [[makes, code, reads], …], devices, bytes: { value: its bytes }, launch, latency, pageable, direct,
// work: { makes: [seconds on the CPU, on a GPU] } }. `placement`: a device for each step but the last, which reads the
// result on devices[0], the CPU. Gives { seconds, moves: [[value, reader, origin, target, bytes], …], spans: [[lane, what,
// start, stop, name], …] }. A GPU does one thing after another here, ops and copies, so that one moment says when it is free.
export function placed(figures, placement) {
  const cpu = figures.devices[0];
  const [free, where, moves, spans] = [{}, {}, [], []];
  let host = 0;
  const spend = (what, seconds, name) => spans.push(["host", what, host, (host += seconds), name]);
  const gpu = (device, what, seconds, start, name) => spans.push([device, what, start, (free[device] = start + seconds), name]);
  const ready = (devices) => Math.max(host, ...devices.map((device) => free[device] ?? 0));
  const copy = (value, origin, target) => {
    const [nbytes, ends] = [figures.bytes[value], [origin, target].filter((device) => device !== cpu)];
    spend("launch", figures.latency, value);
    const start = ready(ends);
    for (const device of ends) gpu(device, "copy", nbytes / (ends.length > 1 ? figures.direct : figures.pageable), start, value);
    if (ends.length > 1 || free[ends[0]] <= host) return; // two GPUs: the host goes on
    spans.push(["host", "wait", host, free[ends[0]], "wait"]);
    host = free[ends[0]];
  };
  figures.steps.forEach(([makes, code, reads], place) => {
    const device = placement[place] ?? cpu;
    for (const value of new Set(reads)) {
      const origin = where[value] ?? cpu;
      if (origin === device) continue;
      copy(value, origin, device);
      moves.push([value, makes, origin, device, figures.bytes[value]]);
    }
    if (place === placement.length) return; // it reads, and computes nothing
    where[makes] = device;
    const [onCpu, onGpu] = figures.work[makes];
    if (device === cpu) return spend("host", onCpu, code);
    spend("launch", figures.launch, code);
    gpu(device, "work", onGpu, ready([device]), code);
  });
  return { seconds: host, moves, spans };
}

// The placement that takes least: among equals the first, counting with the CPU as 0 and the last step's device fastest.
// The GPUs are the same: what begins on another than the first is what begins on the first, with their names exchanged.
export function best(figures) {
  const [count, devices] = [figures.steps.length - 1, figures.devices];
  let least = null;
  for (let number = 0; number < devices.length ** count; number++) {
    const placement = [...Array(count).keys()].map((place) => devices[Math.floor(number / devices.length ** (count - 1 - place)) % devices.length]);
    if (![undefined, devices[1]].includes(placement.find((device) => device !== devices[0]))) continue;
    const found = placed(figures, placement);
    if (!least || found.seconds < least.seconds) least = { ...found, placement };
  }
  return least;
}
