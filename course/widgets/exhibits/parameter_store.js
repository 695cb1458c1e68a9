// The store as a machine: its versions on a rail, workers that pull and push; how late each computes is a distance.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const [TOP, LANE, RADIUS] = [54, 46, 13]; // pixels above the first worker, from worker to worker, of a worker's circle
const [BAR, ROW] = [13, 21]; // of the strip below: a bar, and from row to row
const DOING = { pulls: "pulls", computes: "computes", pushes: "pushes", waits: "waits", dead: "✕ killed" };
const seconds = (micro) => (micro < 1e5 ? `${(micro / 1e3).toFixed(micro < 1e4 ? 1 : 0)} ms` : `${(micro / 1e6).toFixed(2)} s`);
const one = (number) => number.toFixed(1);
const many = (number) => Math.round(number).toLocaleString("en");
const rate = (count, micro) => (micro > 0 ? (1e6 * count) / micro : 0);
const few = (value) => (value < 100 ? one(value) : many(value));

// A recorded run as rows of the simulation's kind: what a message takes isn't known, so it takes no time.
function replayed({ workers, horizon, rows }) {
  const whole = ([worker, version, sent, arrives, applied, step]) => [worker, version, sent, sent, arrives, arrives, applied, applied, step];
  return { workers, horizon, gradients: rows.map(whole), faults: [], recorded: true };
}

function finding(run, other, { mode, run: name }) {
  const [found, waits] = [counts(run), counts(run).waited.map((micro) => micro / run.horizon)];
  const most = waits.indexOf(Math.max(...waits));
  const latest = [...waits.keys()].reduce((worst, who) => (lateness(run, who) > lateness(run, worst) ? who : worst), 0);
  const slow = `worker ${LETTERS[latest]}`;
  const waited = `worker ${LETTERS[most]} waits ${Math.round(100 * waits[most])} % of its time`;
  const ages = found.late ? `Gradients of ${slow} are ${one(lateness(run, latest))} updates late on average` : "No gradient is late";
  if (run.recorded) return `Recorded: ${name}. ${ages}; ${waited}. Measured on the machine that ran this cell; the time of messages is part of the bars.`;
  const others = few(rate(counts(other).gradients, other.horizon));
  const killed = run.faults.some(([, what]) => what === "kill");
  if (!found.gradients) return "Nothing is applied: no worker lives long enough.";
  if (mode === "sync") return `Every update waits for the slowest${killed ? " that lives" : ""}: ${waited}. Nothing is late. Asynchronously the same workers would make ${others} gradients a second.`;
  const late = found.late ? `and staleness is the price: a gradient of ${slow} is ${one(lateness(run, latest))} updates late on average` : "and with one worker nothing is late";
  return `Nobody waits for anybody, ${late}. Synchronously the same workers would make ${others} gradients a second, none of them late.`;
}

// The versions' rail, the store at its end, a lane a worker: everything at the moment `now`.
function machine(wide, run, now, smooth) {
  const [left, right] = [26, wide - 90];
  const version = versionAt(run, now);
  const last = smooth ? Math.max(0, ...run.gradients.map((row) => (row[STEP] === version && row[APPLIED] <= now ? row[APPLIED] : 0))) : 0;
  const shown = version - (smooth && version ? Math.max(0, 1 - (now - last) / (run.horizon / 120)) : 0);
  const reach = Math.max(5, Math.min(40, counts(run).oldest + 2));
  const gap = (right - left - RADIUS) / reach;
  const x = (number) => Math.max(left + RADIUS, right - (shown - number) * gap);
  const bottom = TOP + LANE * run.workers - 14;
  const every = Math.ceil(30 / gap);
  const ticks = [];
  for (let number = Math.max(0, Math.ceil(shown - reach)); number <= version; number++) {
    ticks.push(svg("path", { d: `M${x(number)},24v6`, class: "rule" }));
    if (number % every === 0 && right - x(number) > 50) ticks.push(svg("text", { x: x(number), y: 18, "text-anchor": "middle", class: "tick" }, number));
  }
  return [
    svg("path", { d: `M${left},27H${right}`, class: "rule" }),
    ...ticks,
    svg("path", { d: `M${right},32V${bottom}`, class: "gate" }),
    svg("path", { d: "M0,-9L9,0L0,9L-9,0Z", transform: `translate(${right},27)`, class: "store" }),
    svg("text", { x: right, y: 13, "text-anchor": "middle", class: "name bold" }, `version ${version}`),
    ...[...Array(run.workers).keys()].flatMap((worker) => laneOf(run, worker, now, { y: TOP + LANE * worker + 8, x, right, left, version, wide })),
  ];
}

function laneOf(run, worker, now, { y, x, right, left, version, wide }) {
  const at = standing(run, worker, now);
  const lane = svg("path", { d: `M${left},${y}H${right}`, class: "grid" });
  if (!at) return [lane];
  const { what, gradient, share } = at;
  const [place, shade] = [x(gradient[VERSION]), `w${worker % 6}`];
  const late = version - gradient[VERSION];
  const nodes = [lane, svg("text", { x: wide - 4, y: y + 4, "text-anchor": "end", class: `name ${what}` }, DOING[what])];
  if (what !== "dead" && late > 0) {
    nodes.push(svg("path", { d: `M${place},${y}H${right}`, class: `late ${shade}` }));
    const beside = right - place < 70; // else above its bar
    nodes.push(svg("text", { x: beside ? place - RADIUS - 8 : (place + RADIUS + right) / 2, y: beside ? y + 4 : y - 7, "text-anchor": beside ? "end" : "middle", class: "tick" }, `${late} late`));
  }
  nodes.push(svg("circle", { cx: place, cy: y, r: RADIUS, class: `worker ${shade} ${what}` }));
  if (what === "computes") nodes.push(svg("circle", { cx: place, cy: y, r: RADIUS + 3, pathLength: 100, "stroke-dasharray": `${100 * share} 100`, transform: `rotate(-90 ${place} ${y})`, class: `ring ${shade}` }));
  nodes.push(svg("text", { x: place, y: y + 4.5, "text-anchor": "middle", class: "letter" }, LETTERS[worker % 26]));
  if (what === "dead") nodes.push(svg("path", { d: `M${place - 11},${y - 11}l22,22m-22,0l22,-22`, class: "cross" }));
  if (what === "pulls") nodes.push(svg("path", { d: "M0,-6L6,0L0,6L-6,0Z", transform: `translate(${right + (place - right) * share},${y})`, class: "packet" }));
  if (what === "pushes") nodes.push(svg("circle", { cx: place + (right - place) * share, cy: y, r: 6, class: `packet ${shade}` }));
  if (what === "waits" && right - place > 2 * RADIUS) nodes.push(svg("circle", { cx: right, cy: y, r: 6, class: `packet ${shade}` }), svg("path", { d: `M${place + RADIUS},${y}H${right}`, class: "waits" }));
  return nodes;
}

// The whole run: a row of updates, and one for each worker, computing and waiting.
function strip(wide, run) {
  const [left, right] = [26, wide - 8];
  const x = linear(0, run.horizon, left, right);
  const unit = run.horizon >= 1e6 ? [1e6, "s"] : [1e3, "ms"];
  const scale = linear(0, run.horizon / unit[0], left, right);
  const y = (row) => 4 + ROW * row;
  const within = (micro) => Math.min(run.horizon, micro);
  const marks = [...new Set(run.gradients.filter((row) => row[STEP] !== NEVER && row[APPLIED] <= run.horizon).map((row) => row[APPLIED]))];
  const bar = (from, to, row, attributes) => (to > from ? [svg("rect", { x: x(from), width: Math.max(0.8, x(within(to)) - x(from)), y: y(row), height: BAR, ...attributes })] : []);
  return [
    svg("text", { x: 4, y: y(0) + 11, class: "name said-ps" }, "◆"),
    svg("path", { d: marks.map((at) => `M${x(at)},${y(0)}v${BAR}`).join(""), class: "update" }),
    ...[...Array(run.workers).keys()].map((worker) => svg("text", { x: 4, y: y(worker + 1) + 11, class: "name bold" }, LETTERS[worker % 26])),
    ...run.gradients.flatMap((row) => [
      ...bar(row[BEGINS], row[ENDS], row[WORKER] + 1, { class: `work w${row[WORKER] % 6}` }),
      ...(row[ARRIVES] === NEVER ? [] : bar(row[ARRIVES], row[FREED] === NEVER ? run.horizon : row[FREED], row[WORKER] + 1, { class: "dotted" })),
    ]),
    ...run.faults.filter(([, what]) => what === "kill").map(([at, , worker]) => svg("path", { d: `M${x(at) - 5},${y(worker + 1) + 1}l10,11m-10,0l10,-11`, class: "cross" })),
    ...axisBelow(scale, { y: y(run.workers + 1), left, right, label: `${unit[1]}; bars: computes; dots: waits; ◆ updates`, most: wide < 500 ? 4 : 8, words: String }),
    svg("path", { d: `M0,0V${y(run.workers + 1)}`, class: "now" }),
  ];
}

export function draw(root, data) {
  const times = { message: data.message, update: data.update, horizon: data.horizon };
  const runOf = ({ run, mode, a, b, c, seed, faults }, rule = mode) => (run in data.recorded ? replayed(data.recorded[run]) : storeRun(rule, [a, b, c].map((pace) => 1000 * pace), faults.map(([at, ...rest]) => [Math.round(1000 * at), ...rest]), seed, times));
  let [run, now] = [null, 0];

  const answer = (settings) => {
    run = runOf(settings);
    const found = counts(run);
    const late = found.gradients ? found.late / found.gradients : 0;
    const small = `${run.recorded ? "recorded" : "simulated"}; ${few(rate(found.updates, run.horizon))} updates a second; staleness ${one(late)} on average, ${found.oldest} at most`;
    return { figure: `${few(rate(found.gradients, run.horizon))} gradients a second`, small, sentence: finding(run, runOf(settings, settings.mode === "sync" ? "async" : "sync"), settings) };
  };
  const painted = ({ sentence }) => {
    if (moment.end !== run.horizon) moment.reach((moment.end = run.horizon));
    root.dataset.result = JSON.stringify({ ...counts(run), rows: run.gradients.length });
    whole.paint(run);
    whole.image.setAttribute("aria-label", `The whole run. ${sentence}`);
    for (const row of controls) row.hidden = Boolean(run.recorded);
    [...kills, forget].forEach((press) => (press.hidden = Boolean(run.recorded)));
    moment.set(moment.begun ? Math.min(now, run.horizon) : run.horizon / 2);
    moment.begun = true;
  };
  const state = exhibit(root, data, painted, { local: answer });
  const places = ["rail", "whole"].map((name) => {
    const place = document.createElement("div");
    place.className = name;
    state.picture.append(place);
    return place;
  });
  const rail = chart(places[0], { high: () => TOP + LANE * run.workers - 12 }, machine);
  const whole = chart(places[1], { high: () => 4 + ROW * (run.workers + 1) + 40 }, strip);
  const told = document.createElement("p");
  told.className = "note sofar";
  places[0].after(told);

  const soFar = () => {
    const found = counts(run, now);
    const late = found.gradients ? one(found.late / found.gradients) : "0.0";
    const waited = found.waited.map((micro, worker) => `${LETTERS[worker % 26]} ${seconds(micro)}`).join(", ");
    return `After ${seconds(now)}: ${many(found.updates)} updates, ${few(rate(found.updates, now))} a second; staleness ${late} on average, ${found.oldest} at most; waited: ${waited}.`;
  };
  const lives = (worker) => run.faults.filter(([at, , who]) => who === worker && at <= now).at(-1)?.[1] !== "kill";
  const show = (to, plays) => {
    now = Math.round(to);
    rail.paint(run, now, plays);
    told.textContent = soFar();
    const doing = [...Array(run.workers).keys()].map((worker) => [worker, standing(run, worker, now)]).filter(([, at]) => at);
    const words = doing.map(([worker, { what, gradient }]) => (what === "dead" ? `${LETTERS[worker % 26]} is killed` : `${LETTERS[worker % 26]} ${what}, ${versionAt(run, now) - gradient[VERSION]} updates behind`));
    rail.image.setAttribute("aria-label", `The store is at version ${versionAt(run, now)}; ${words.join("; ")}.`);
    const left = 26 + ((whole.image.viewBox.baseVal.width - 34) * now) / run.horizon;
    whole.image.querySelector(".now")?.setAttribute("transform", `translate(${left},0)`);
    kills.forEach((press, worker) => (press.textContent = `${lives(worker) ? "✕ Kill" : "Revive"} ${LETTERS[worker]}`));
    state.unable(forget, run.faults.length ? "" : "nobody was killed.");
  };
  const instants = () => [...new Set(run.gradients.flatMap((row) => [row[SENT], row[ENDS], row[ARRIVES], row[APPLIED]]).filter((at) => at >= 0 && at <= run.horizon))].sort((early, late) => early - late);
  const moment = scrubber(state.picture, {
    end: data.horizon,
    words: seconds,
    speed: () => run.horizon / 20,
    later: (from) => instants().find((at) => at > from) ?? run.horizon,
    earlier: (from) => instants().findLast((at) => at < from) ?? 0,
    moved: show,
  });
  const names = Object.keys(data.recorded);
  if (names.length) state.choice("run", { label: "run", options: [...names.map((name) => [name, `recorded: ${name}`]), ["simulated", "simulated, with workers of your own"]] });
  const controls = [state.choice("mode", { label: "rule", options: [["async", "asynchronous: nobody waits"], ["sync", "synchronous: everybody waits"]] }).row];
  for (const name of ["a", "b", "c"]) controls.push(state.slider(name, { label: `gradient of worker ${name.toUpperCase()}`, stops: data.paces, words: (pace) => `${pace} ms` }).row);
  const strike = (worker) => {
    const before = state.settings.faults.filter(([at]) => 1000 * at < now); // what came later came of another past
    state.set({ faults: [...before, [now / 1000, lives(worker) ? "kill" : "revive", worker]] });
  };
  const kills = [0, 1, 2].map((worker) => state.button(`✕ Kill ${LETTERS[worker]}`, () => strike(worker)));
  const forget = state.button("Nobody dies", () => state.set({ faults: [] }));
  state.start();
  dragged(whole.image, (x) => moment.set(((x - 26) / (whole.image.viewBox.baseVal.width - 34)) * run.horizon));
  new ResizeObserver(() => !moment.playing() && show(now, false)).observe(places[1]);
}
