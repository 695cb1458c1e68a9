// A training over continents: who computes, who waits, what is on its way between them.

// --- the simulation: the twin of course/scale/continents.py, in whole microseconds ------------------------------------

const SERVER = -1;

export function continents({ roundTrips, update }, design, workers, server, compute, wire, horizon) {
  const away = (one, other) => Math.floor(500 * (roundTrips[`${one} ${other}`] ?? roundTrips[`${other} ${one}`]) + 0.5);
  const run = { computing: [], messages: [], updates: [] };
  if (design === "ring") ring(run, workers.map((place, rank) => away(place, workers[(rank + 1) % workers.length]) + Math.floor(wire / workers.length)), compute, update, horizon);
  else served(run, workers.map((place) => away(place, server) + wire), compute, update, horizon, design === "synchronous" ? workers.length : 1);
  for (const list of Object.values(run)) if (list !== run.updates || design === "ring") list.sort(inOrder);
  return run;
}

const inOrder = (one, other) => {
  let at = 0;
  while (at < one.length - 1 && one[at] === other[at]) at += 1;
  return one[at] - other[at];
};

function served(run, away, compute, update, horizon, together) {
  const arriving = []; // [when a gradient arrives, whose, of which version]
  let [free, version, waiting] = [0, 0, []];
  const answer = (now, worker) => {
    const [begins, ends] = [now + away[worker], now + away[worker] + compute];
    run.messages.push([SERVER, worker, now, begins]);
    if (begins < horizon) run.computing.push([worker, begins, ends]);
    if (ends < horizon) {
      run.messages.push([worker, SERVER, ends, ends + away[worker]]);
      arriving.push([ends + away[worker], worker, version]);
      arriving.sort(inOrder);
    }
  };
  away.forEach((_, worker) => answer(0, worker));
  while (arriving.length && arriving[0][0] < horizon) {
    const [now, worker, pulled] = arriving.shift();
    waiting.push([worker, pulled]);
    if (waiting.length < together) continue;
    free = Math.max(free, now) + update;
    waiting.sort(inOrder);
    if (free < horizon) for (const [who, seen] of waiting) run.updates.push([free, who, version - seen]);
    version += 1;
    for (const [who] of waiting) answer(free, who);
    waiting = [];
  }
}

function ring(run, away, compute, update, horizon) {
  const size = away.length;
  let ready = away.map(() => 0);
  while (Math.min(...ready) < horizon) {
    ready.forEach((begins, rank) => begins < horizon && run.computing.push([rank, begins, begins + compute]));
    ready = ready.map((begins) => begins + compute);
    for (let step = 0; step < 2 * (size - 1); step++) {
      const arrives = ready.map((now, rank) => now + away[rank]);
      ready.forEach((now, rank) => now < horizon && run.messages.push([rank, (rank + 1) % size, now, arrives[rank]]));
      ready = ready.map((now, rank) => Math.max(now, arrives.at(rank - 1)) + update);
    }
    ready.forEach((ends, rank) => ends < horizon && run.updates.push([ends, rank, 0]));
  }
}

export function figures({ computing, updates }, workers, horizon) {
  const mean = (list) => (list.length ? list.reduce((sum, value) => sum + value, 0) / list.length : 0);
  const each = [...Array(workers).keys()];
  const busy = (worker) => computing.reduce((sum, [who, begins, ends]) => sum + (who === worker ? Math.min(ends, horizon) - begins : 0), 0);
  return {
    rate: (1e6 * updates.length) / horizon,
    waits: each.map((worker) => 1 - busy(worker) / horizon),
    staleness: each.map((worker) => mean(updates.filter((one) => one[1] === worker).map((one) => one[2]))),
  };
}

// --- the page ---------------------------------------------------------------------------------------------------------

const LETTERS = "ABCDEF";
const DESIGNS = { asynchronous: "a server, nobody waits for others", synchronous: "a server, all wait for all", ring: "a ring, no server" };
const PRESETS = [
  ["one hall", ["Virginia", "Virginia", "Virginia"], "Virginia"],
  ["one far away", ["Virginia", "Virginia", "Tokyo"], "Virginia"],
  ["three continents", ["Virginia", "Frankfurt", "Tokyo"], "Virginia"],
  ["server at the edge", ["Virginia", "Frankfurt", "Tokyo"], "Sydney"],
];
const KEY = `<i class="computes"></i> computes &nbsp; <i class="waits"></i> waits &nbsp; <b>→</b> a gradient or parameters on their way &nbsp; <b class="ps">◆</b> an update`;

const [LANE, BAR] = [50, 18]; // pixels from lane to lane, and of a lane's bar

const percent = (share) => `${Math.round(100 * share)} %`;
const one = (number) => number.toFixed(1);

function finding(settings, run, told) {
  const [least, most] = [Math.min(...told.waits), Math.max(...told.waits)];
  const close = most - least < 0.02;
  if (settings.design === "ring") {
    const trips = 2 * (settings.workers.length - 1);
    return `A round takes ${trips} trips along the ring, one after the other, and the longest leg holds up all. Every worker waits ${percent(most)} of its time.`;
  }
  if (settings.design === "synchronous") {
    return close ? `All are equally far: each waits ${percent(most)} of its time, for the way there and back.` : `The farthest sets the pace: each round takes a way there and back to it. Every worker waits ${percent(least)} of its time or more.`;
  }
  const oldest = told.staleness.indexOf(Math.max(...told.staleness));
  if (close) return `All are equally far, and each waits only for its own way there and back: ${percent(most)} of its time.`;
  return `Nobody waits for others: the nearest waits ${percent(least)} of its time, the farthest ${percent(most)}. The price is age: worker ${LETTERS[oldest]}'s gradients are ${one(told.staleness[oldest])} updates old.`;
}

const named = (who, settings) => (who === SERVER ? ["◆ server", settings.server] : [`● worker ${LETTERS[who]}`, settings.workers[who]]);

// The timeline's nodes, `wide` pixels: lanes of server and workers, who compute and wait, and messages between them.
function timeline(wide, { run, settings }, fill) {
  const order = (settings.design === "ring" ? [] : [SERVER]).concat(settings.workers.map((_, worker) => worker));
  const rows = lanes(order.map((who) => named(who, settings)), { wide, step: LANE, bar: BAR });
  const window = Math.max(1e6, 6e3 * settings.compute);
  const x = linear(0, window, rows.left, rows.right);
  const top = (who) => rows.top(order.indexOf(who));
  const lane = (who) => ({ x: rows.left, width: rows.right - rows.left, y: top(who), height: BAR });
  const parts = order.map((who) => svg("rect", who === SERVER ? { ...lane(who), class: "line" } : { ...lane(who), ...fill("dots") }));
  settings.workers.forEach((_, worker) => {
    const bars = run.computing.filter(([who, begins]) => who === worker && begins < window).map(([who, begins, stops]) => {
      const width = Math.max(1, x(Math.min(stops, window)) - x(begins));
      return `M${x(begins)},${top(who)}h${width}v${BAR}h${-width}z`;
    });
    parts.push(svg("path", { d: bars.join(""), class: `computes w${worker % 3}` })); // one shape: a node each takes long
  });
  const arrows = run.messages.filter((message) => message[2] < window).map((message) => arrow(message, window, x, top));
  parts.push(svg("path", { d: arrows.map(([line]) => line).join(""), class: "message" }));
  parts.push(svg("path", { d: arrows.map(([, head]) => head).join(""), class: "head" }));
  for (const [time, who] of run.updates) {
    if (time >= window) continue;
    const where = `translate(${x(time)},${top(settings.design === "ring" ? who : SERVER) + BAR / 2})`;
    parts.push(svg("path", { d: "M0,-6L6,0L0,6L-6,0Z", transform: where, class: "update" }));
  }
  const step = window / (wide < 500 ? 2 : 4);
  for (let time = 0; time <= window; time += step) {
    const anchor = time === 0 ? "start" : time === window ? "end" : "middle";
    parts.push(svg("text", { x: x(time), y: rows.bottom + 4, "text-anchor": anchor, class: "tick" }, time === window ? `${time / 1e6} simulated seconds` : `${time / 1e6}`));
  }
  return [...rows.nodes, ...parts];
}

// A message's line from lane to lane, and its head where it arrives within the window: what paths are made of.
function arrow([source, target, sent, arrives], window, x, top) {
  const down = top(target) > top(source);
  const [from, to] = [top(source) + (down ? BAR : 0), top(target) + (down ? 0 : BAR)];
  const part = arrives > window ? (window - sent) / (arrives - sent) : 1;
  const [x1, x2, y2] = [x(sent), x(Math.min(arrives, window)), from + part * (to - from)];
  const line = `M${x1},${from}L${x2},${y2}`;
  if (part < 1) return [line, ""];
  const turn = Math.atan2(y2 - from, x2 - x1);
  const [along, across] = [Math.cos(turn), Math.sin(turn)];
  const corner = (side) => `L${x2 - 6 * along - side * across},${y2 - 6 * across + side * along}`;
  return [line, `M${x2},${y2}${corner(-2.6)}${corner(2.6)}Z`];
}

export function draw(root, data) {
  const answer = (settings) => {
    const run = continents(data, settings.design, settings.workers, settings.server, 1e3 * settings.compute, 1e3 * settings.wire, data.horizon);
    const told = figures(run, settings.workers.length, data.horizon);
    const waiting = told.waits.reduce((sum, share) => sum + share, 0) / told.waits.length;
    const waits = told.waits.map((share, worker) => `worker ${LETTERS[worker]} in ${settings.workers[worker]} waits ${percent(share)}`);
    return {
      figure: `${one(told.rate)} gradients a second`,
      small: `simulated; the workers wait ${percent(waiting)} of their time; one worker beside its server makes at most ${(1e3 / settings.compute).toFixed(1)}`,
      sentence: finding(settings, run, told),
      alt: `A timeline of the first simulated seconds, ${settings.design}: ${waits.join(", ")} of its time.`,
      run,
      told,
    };
  };
  const place = (who, settings) => (who === SERVER ? settings.server : settings.workers[who]);
  const paint = ({ run, told }, settings) => {
    for (const [who, control] of rows) {
      control.row.hidden = place(who, settings) === undefined;
      if (control.row.hidden) continue;
      control.set(place(who, settings));
      control.tell(who === SERVER && settings.design === "ring" ? "not used" : data.places[place(who, settings)]);
    }
    root.dataset.result = JSON.stringify({ ...told, updates: run.updates.length });
    map.paint({ run, settings });
  };
  const state = exhibit(root, data, paint, { local: answer });
  const map = chart(state.picture, { high: (wide, { settings }) => (settings.workers.length + (settings.design === "ring" ? 0 : 1)) * LANE + 16 }, (wide, shown) => timeline(wide, shown, map.fill));
  map.image.classList.add("map");
  for (const [words, text] of [["key", KEY], ["source", ""]]) {
    const note = document.createElement("p");
    [note.className, note.innerHTML] = [`note ${words}`, text];
    (words === "key" ? state.picture : root).append(note);
    if (words === "source") note.textContent = data.source;
  }
  state.choice("design", { label: "average by", options: Object.entries(DESIGNS) });
  const places = Object.keys(data.places).map((name) => [name, name]);
  const column = root.querySelector(".sliders");
  const rows = [[SERVER, state.choice("server", { label: "◆ server in", options: places })]];
  [...LETTERS].forEach((letter, worker) => {
    const changed = (to) => state.set({ workers: state.settings.workers.with(worker, to) });
    rows.push([worker, choice(column, { name: `worker${worker}`, label: `● worker ${letter} in`, options: places, changed })]);
  });
  state.slider("compute", { label: "a gradient takes", stops: data.stops.compute, words: (ms) => `${ms} ms` });
  state.slider("wire", { label: "… and on the wire", stops: data.stops.wire, words: (ms) => `${ms} ms` });
  for (const [label, workers, server] of PRESETS) {
    state.button(label, () => state.set({ workers: state.settings.workers.map((_, worker) => workers[worker % workers.length]), server }));
  }
  state.start();
}
