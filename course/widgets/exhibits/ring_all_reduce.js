// Ranks in a circle that add up their gradients piece by piece, and beside it a server that adds up the same: one clock.

const LETTERS = "ABCDEFGHIJKL";
const PRESETS = [
  ["the digits' gradients", { ranks: 4, size: 318_040, gigabits: 1, latency: 100 }],
  ["few bytes", { ranks: 4, size: 1_000, gigabits: 1, latency: 100 }],
  ["many ranks", { ranks: 12, size: 318_040, gigabits: 1, latency: 100 }],
  ["an ocean between", { ranks: 4, size: 318_040, gigabits: 1, latency: 100_000 }],
];
const inSeconds = (seconds) => {
  if (seconds === 0) return "0";
  const [unit, one] = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]].find(([, size]) => seconds >= 0.9995 * size) ?? ["µs", 1e-6];
  return `${+(seconds / one).toPrecision(3)} ${unit}`;
};
const inBytes = (bytes) => `${short(bytes)}${short(bytes).includes(" ") ? "" : " "}B`;
const CONTROLS = [
  ["ranks", "ranks n", String],
  ["size", "gradients of each", inBytes],
  ["gigabits", "each link carries", (speed) => `${speed} Gbit/s`],
  ["latency", "latency of a message", (micro) => inSeconds(micro / 1e6)],
];
const TAU = 2 * Math.PI;

// Where the ranks stand in a panel `wide` pixels: a circle, and squares of `side` pixels on it.
function circle(wide, ranks) {
  const radius = Math.min(wide / 2 - 40, 132);
  const side = Math.min(64, 2 * radius * Math.sin(Math.PI / ranks) * 0.62);
  const [x, y] = [wide / 2, radius + 52];
  const at = (rank, away = radius) => [x + away * Math.sin((TAU * rank) / ranks), y - away * Math.cos((TAU * rank) / ranks)];
  return { x, y, radius, side, at };
}

// Pieces one below the other, around (x, y): in each line a square for every rank whose gradients are in that piece.
function held(x, y, side, masks, ranks, { high = side / ranks, follow = 0, classes = "" } = {}) {
  const cell = side / ranks;
  const gap = cell > 6 ? 1 : 0.4;
  const [left, top] = [x - side / 2, y - (high * masks.length) / 2];
  const paths = new Map();
  const letters = [];
  masks.forEach((mask, line) => {
    const whole = mask === 2 ** ranks - 1 ? "whole" : "part";
    for (let of = 0; of < ranks; of++) {
      if (!((mask >> of) & 1)) continue;
      const name = `cell b${of % 6} ${whole}`;
      const [from, down] = [left + of * cell + gap / 2, top + line * high + gap / 2];
      paths.set(name, `${paths.get(name) ?? ""}M${from.toFixed(2)},${down.toFixed(2)}h${(cell - gap).toFixed(2)}v${(high - gap).toFixed(2)}h${(gap - cell).toFixed(2)}Z`);
      if (cell >= 14 && high >= 14) letters.push(svg("text", { x: from + (cell - gap) / 2, y: down + high / 2 + 4, "text-anchor": "middle", class: "letter" }, LETTERS[of]));
    }
  });
  const frame = svg("rect", { x: left, y: top, width: side, height: high * masks.length, class: `frame ${classes}` });
  const mark = follow ? [svg("rect", { x: left - 1.5, y: top + (masks.length > 1 ? (follow - 1) * high : 0) - 1.5, width: side + 3, height: high + 3, class: "follow" })] : [];
  const ground = svg("rect", { x: left, y: top, width: side, height: high * masks.length, class: "ground" });
  return [ground, ...[...paths].map(([name, d]) => svg("path", { d, class: name })), ...letters, frame, ...mark];
}

const named = ({ at, side }, rank) => {
  const [x, y] = at(rank);
  return svg("text", { x: x - side / 2, y: y - side / 2 - 8, class: "name" }, `● ${LETTERS[rank]}`);
};
const middle = (x, y, lines) => lines.map((words, row) => svg("text", { x, y: y + 18 * row, "text-anchor": "middle", class: row ? "tick" : "name bold" }, words));

function ringPanel(wide, { run, now, follow }) {
  const { ranks, steps, step, late, alone } = run;
  const place = circle(wide, ranks);
  const done = Math.min(steps, stepAt(run, now));
  const masks = pieces(ranks, done);
  const [within, moving] = [Math.max(0, now - done * step), done < steps];
  const margin = Math.asin(Math.min(0.95, place.side / 2 / place.radius)) * 1.15;
  const along = (rank, part) => (TAU * rank) / ranks + margin + part * (TAU / ranks - 2 * margin);
  const arc = (rank, from, to, name) => {
    const [start, stop] = [along(rank, from), along(rank, to)].map((angle) => [place.x + place.radius * Math.sin(angle), place.y - place.radius * Math.cos(angle)]);
    return svg("path", { d: `M${start}A${place.radius},${place.radius} 0 0 1 ${stop}`, class: name });
  };
  const links = [...masks.keys()].map((rank) => arc(rank, 0, 1, "link"));
  const nodes = [...masks.keys()].flatMap((rank) => {
    const [x, y] = place.at(rank);
    return [named(place, rank), ...held(x, y, place.side, masks[rank], ranks, { follow })];
  });
  if (moving && within > 0) {
    const [head, tail] = [Math.min(1, within / late), Math.max(0, (within - alone / ranks) / late)];
    const dip = ranks > 5 ? 0.8 * place.side : 0; // many ranks stand close: their packets pass inside the circle
    for (const rank of masks.keys()) {
      const piece = outgoing(ranks, rank, done);
      if (head > tail) links.push(arc(rank, tail, head, "stream"));
      const [x, y] = place.at(rank + within / step, place.radius - dip * Math.sin((Math.PI * within) / step));
      const high = Math.max(7, place.side / ranks);
      nodes.push(...held(x, y, place.side, [masks[rank][piece]], ranks, { high, classes: "packet", follow: follow === piece + 1 ? 1 : 0 }));
    }
  }
  if (moving && within === 0) {
    const high = place.side / ranks; // what leaves next
    for (const rank of masks.keys()) {
      const [x, y] = place.at(rank);
      const top = y - place.side / 2 + outgoing(ranks, rank, done) * high;
      nodes.push(svg("rect", { x: x - place.side / 2, y: top, width: place.side, height: high, class: "frame packet next" }));
    }
  }
  const phase = done < ranks - 1 ? "reduce-scatter" : "all-gather";
  return [...links, ...nodes, ...middle(place.x, place.y - 22, [inBytes(sentBy(run, now)), "sent by each rank", moving ? `step ${done + 1} of ${steps}` : `${steps} steps done`, moving ? phase : "all have the sum"])];
}

function serverPanel(wide, { run, now }, fill) {
  const { ranks, alone, late } = run;
  const place = circle(wide, ranks);
  const each = [...Array(ranks).keys()];
  const doing = each.map((worker) => served(run, worker, now));
  const nodes = each.flatMap((worker) => {
    const [[x, y], [what]] = [place.at(worker), doing[worker]];
    const around = place.side + 9;
    const dots = what.startsWith("waits") ? [svg("rect", { x: x - around / 2, y: y - around / 2, width: around, height: around, class: "waits", ...fill("dots") })] : [];
    const masks = each.map(() => (what === "has the sum" ? 2 ** ranks - 1 : 1 << worker));
    const [inner, outer] = [place.at(worker, 34), place.at(worker, place.radius - place.side / 2 - 2)];
    return [svg("path", { d: `M${inner}L${outer}`, class: "link" }), ...dots, named(place, worker), ...held(x, y, place.side, masks, ranks)];
  });
  const busy = each.filter((worker) => ["pushes", "pulls"].includes(doing[worker][0]));
  for (const worker of busy) {
    const [what, part] = doing[worker];
    const way = what === "pushes" ? 1 - part : part;
    const [x, y] = place.at(worker, 34 + way * (place.radius - place.side / 2 - 40));
    const masks = each.map(() => (what === "pulls" ? 2 ** ranks - 1 : 1 << worker));
    nodes.push(svg("path", { d: `M${place.at(worker, 34)}L${place.at(worker, place.radius - place.side / 2 - 2)}`, class: "stream" }), ...held(x, y, 24, masks, ranks, { classes: "packet solid" }));
  }
  const count = (from) => Math.max(0, Math.min(ranks, (now - from) / alone));
  const [into, out] = [count(0), count(ranks * alone + late)];
  const waiting = doing.filter(([what]) => what.startsWith("waits")).length;
  const diamond = svg("path", { d: "M0,-20L20,0L0,20L-20,0Z", transform: `translate(${place.x},${place.y})`, class: "ps" });
  const below = place.y + place.radius + place.side / 2 + 24;
  const words = `server: ${inBytes(into * run.alone * run.speed)} in, ${inBytes(out * run.alone * run.speed)} out; ${waiting} of ${ranks} wait`;
  return [...nodes, diamond, svg("text", { x: place.x, y: below, "text-anchor": "middle", class: "tick" }, words)];
}

// Bytes that each rank of the ring has sent: a piece has left when its bytes are on the link, and is under way after that.
const sentBy = (run, now) => {
  const done = stepAt(run, now);
  const part = done < run.steps ? Math.max(0, Math.min(1, (now - done * run.step) / (run.alone / run.ranks))) : 0;
  return ((done + part) * run.sent) / run.steps;
};
const stepAt = ({ steps, step }, now) => Math.min(steps, Math.floor(now / step + 1e-9));

// Both clocks as lanes: the ring's steps, and the messages through the server's link.
function clocks(wide, { run, now }, fill) {
  const rows = lanes([["● ring"], ["◆ server"]], { wide, step: 34, bar: 20, begin: 6 });
  const x = linear(0, Math.max(run.ring, run.server), rows.left, rows.right - 22);
  const bar = (lane, from, to, role, title) => {
    const one = svg("rect", { x: x(from), y: rows.top(lane), width: Math.max(0.6, x(to) - x(from)), height: rows.bar, ...fill(role), opacity: now >= to ? 1 : now > from ? 0.65 : 0.25 });
    one.append(svg("title", {}, title));
    return one;
  };
  const ring = [...Array(run.steps).keys()].map((done) => bar(0, done * run.step, (done + 1) * run.step, "worker", `step ${done + 1}: ${done < run.ranks - 1 ? "reduce-scatter" : "all-gather"}`));
  const server = [0, 1].flatMap((way) => [...Array(run.ranks).keys()].map((worker) => {
    const from = way * (run.ranks * run.alone + run.late) + worker * run.alone;
    return bar(1, from, from + run.alone, "ps", `${LETTERS[worker]} ${way ? "pulls" : "pushes"}`);
  }));
  const hand = svg("path", { d: `M${x(now)},2V${rows.bottom - 6}`, class: "hand" });
  const label = "simulated; a box: one step of the ring, one vector through the server's link";
  const ticks = x.ticks(wide < 500 ? 3 : 5);
  return [...rows.nodes, ...ring, ...server, hand, ...axisBelow(x, { y: rows.bottom - 6, left: rows.left, right: rows.right, label: wide < 500 ? "simulated" : label, words: inSeconds, most: ticks.length })];
}

// Seconds by ranks, 2 to 1,000, on links as they are set.
function growth(wide, { run, settings }) {
  const [left, right, top, bottom] = [64, wide - 78, 12, 158];
  const counts = [...Array(49).keys()].map((place) => Math.round(2 * 500 ** (place / 48)));
  const runs = counts.map((ranks) => allReduce({ ...settings, ranks }));
  const all = runs.flatMap(({ ring, server }) => [ring, server]);
  const x = logarithmic(2, 1000, left, right);
  const y = logarithmic(Math.min(...all), Math.max(...all), bottom, top);
  const line = (name) => svg("polyline", { points: runs.map((one) => `${x(one.ranks)},${y(one[name])}`).join(" "), class: `line ${name}` });
  const [ring, server] = [y(runs.at(-1).ring), y(runs.at(-1).server)];
  const apart = Math.max(0, 16 - Math.abs(ring - server)) / 2;
  const sign = Math.sign(ring - server) || 1;
  const end = (at, words, name) => svg("text", { x: right + 6, y: at + 4, class: `name ${name}` }, words);
  return [
    ...axisLeft(y, { x: left, top, bottom, right, words: inSeconds, most: 5 }),
    ...axisBelow(x, { y: bottom, left, right, label: "ranks", words: String, most: 4 }),
    svg("path", { d: `M${x(run.ranks)},${top}V${bottom}`, class: "hand" }),
    line("ring"),
    line("server"),
    svg("circle", { cx: x(run.ranks), cy: y(run.ring), r: 5, class: "dot ring" }),
    svg("path", { d: "M0,-6L6,0L0,6L-6,0Z", transform: `translate(${x(run.ranks)},${y(run.server)})`, class: "dot server" }),
    end(ring + sign * apart, "● ring", "ring"),
    end(server - sign * apart, "◆ server", "server"),
  ];
}

function told(run, settings) {
  const more = allReduce({ ...settings, ranks: run.ranks + 1 });
  const [ring, server] = [inSeconds(more.ring - run.ring), inSeconds(more.server - run.server)];
  const quick = run.even >= 1 ? `With ${run.ranks} ranks on such links the server is quicker below ${inBytes(run.even)}.` : "With two ranks the ring is always quicker.";
  return {
    figure: `ring ${inSeconds(run.ring)}, server ${inSeconds(run.server)}`,
    small: `simulated; each rank of the ring sends ${inBytes(run.sent)}, the server's one link carries ${inBytes(run.through)}`,
    sentence: `One more rank costs the ring two messages more, ${ring}, and the server two vectors more through its link, ${server}. ${quick}`,
  };
}

export function draw(root, data) {
  let [run, now] = [null, 0];
  const answer = (settings) => {
    settings.step = Math.min(settings.step, 2 * (settings.ranks - 1)); // fewer ranks have fewer steps, and pieces
    if (settings.follow > settings.ranks) settings.follow = 0;
    return { ...allReduce(settings), speed: settings.gigabits * 1.25e8 };
  };
  const paint = (found, settings) => {
    run = found;
    follow.refit([...Array(run.ranks + 1).keys()]);
    follow.set(settings.follow);
    moment.reach(Math.max(run.ring, run.server));
    if (moment.playing() || stepAt(run, now) !== settings.step) moment.set(settings.step * run.step);
    else repaint();
    const of = JSON.stringify(run);
    if (root.dataset.result !== of) curves.paint({ run, settings });
    const most = allReduce({ ...settings, ranks: 1000 });
    curves.image.setAttribute("aria-label", `With 1,000 ranks the ring takes ${inSeconds(most.ring)}, the server ${inSeconds(most.server)}.`);
    root.dataset.result = of;
    return told(run, settings);
  };
  const repaint = () => {
    const shown = { run, now, follow: state.settings.follow };
    for (const one of [ring, server, lane]) one.paint(shown);
    const clock = (name) => `${inSeconds(Math.min(now, run[name]))}${now >= run[name] ? ": done" : ""}`;
    for (const name of ["ring", "server"]) state.picture.querySelector(`.clock.${name} span`).textContent = clock(name);
    const doing = run.steps <= stepAt(run, now) ? "has the sum" : `is in step ${stepAt(run, now) + 1} of ${run.steps}`;
    ring.image.setAttribute("aria-label", `${run.ranks} ranks in a circle. After ${inSeconds(now)} the ring ${doing}; each rank has sent ${inBytes(sentBy(run, now))}.`);
    lane.image.setAttribute("aria-label", `The ring takes ${inSeconds(run.ring)}, the server ${inSeconds(run.server)}.`);
    const waits = [...Array(run.ranks).keys()].filter((worker) => served(run, worker, now)[0].startsWith("waits"));
    server.image.setAttribute("aria-label", `After ${inSeconds(now)} ${waits.length} of ${run.ranks} workers of the server wait.`);
    root.dataset.now = JSON.stringify({ now, step: stepAt(run, now), waits: waits.length });
  };
  const state = exhibit(root, data, paint, { local: answer });
  state.picture.innerHTML = `<div class="duel"><div><p class="clock ring"><b>● ring</b> <span></span></p></div><div><p class="clock server"><b>◆ server</b> <span></span></p></div></div><div class="lanes"></div>`;
  const panels = state.picture.querySelectorAll(".duel > div");
  const high = (wide, { run: { ranks } }) => {
    const { y, radius, side } = circle(wide, ranks);
    return y + radius + side / 2 + 32;
  };
  const ring = chart(panels[0], { high }, ringPanel);
  const server = chart(panels[1], { high }, (wide, shown) => serverPanel(wide, shown, server.fill));
  const lane = chart(state.picture.querySelector(".lanes"), { high: 106 }, (wide, shown) => clocks(wide, shown, lane.fill));
  const moment = scrubber(state.picture, {
    end: 1,
    words: inSeconds,
    // while both are at it, a step of the ring or a vector to the server in about a second; then what is left in five
    speed: () => {
      const [first, last] = [Math.min(run.ring, run.server), Math.max(run.ring, run.server)];
      return now < first ? first / Math.min(12, Math.max(4, run.ring < run.server ? run.steps : 2 * run.ranks)) : (last - first) / 5;
    },
    later: (from) => events().find((time) => time > from * (1 + 1e-9) + 1e-12),
    earlier: (from) => events().findLast((time) => time < from * (1 - 1e-9) - 1e-12) ?? 0,
    moved: (to, plays) => {
      now = to;
      if (!plays && stepAt(run, now) !== state.settings.step) state.set({ step: stepAt(run, now) });
      else repaint();
    },
  });
  const events = () => {
    const steps = [...Array(run.steps + 1).keys()].map((step) => step * run.step);
    const messages = [0, 1].flatMap((way) => [...Array(run.ranks).keys()].map((worker) => way * (run.ranks * run.alone + run.late) + (worker + 1) * run.alone + run.late));
    return [...steps, ...messages].sort((one, other) => one - other);
  };
  const about = document.createElement("p");
  [about.className, about.textContent] = ["note source", data.source];
  const below = document.createElement("div");
  below.className = "growth";
  state.picture.append(below);
  const curves = chart(below, { high: 200 }, growth);
  root.append(about);
  for (const [name, label, words] of CONTROLS) state.slider(name, { label, stops: data.stops[name], words });
  const follow = state.slider("follow", { label: "follow a piece", stops: [0], words: (piece) => (piece ? `piece ${piece}` : "none") });
  for (const [label, settings] of PRESETS) state.button(label, () => state.set({ ...settings, step: 0 }));
  state.start();
}
