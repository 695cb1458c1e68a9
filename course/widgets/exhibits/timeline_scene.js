// What the timeline draws of one run: its lanes, bars, bytes and marks at a place in the picture, and their words.

const [STEP, HIGH, TOP] = [40, 20, 22]; // pixels from lane to lane, of a lane's bar, and above the first
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ENDED = ["", "raised an error", "its process died"];

const inWords = (ticks) => (Math.abs(ticks) >= 1e5 ? `${(ticks / 1e5).toFixed(2)} s` : `${(ticks / 100).toFixed(ticks < 1000 ? 2 : 1)} ms`);
const bytesInWords = (count) => (count >= 1e9 ? `${+(count / 1e9).toPrecision(3)} GB` : count >= 1e6 ? `${+(count / 1e6).toPrecision(3)} MB` : count >= 1e3 ? `${+(count / 1e3).toPrecision(3)} kB` : `${count} B`);

// What a run's data say of its lanes: short names, colours, who is a server; lanes on which nothing happened are left out.
function cast(run) {
  const used = new Set([...run.bars.map((bar) => bar[0]), ...run.moves.flatMap((move) => [move[0], move[1]]), ...run.marks.map((mark) => mark[0]), ...run.events.map((event) => event[2])]);
  let letter = 0;
  return run.lanes.flatMap((name, lane) => {
    const [, job, index] = /^\/job:([^/]+)\/task:(\d+)/.exec(name) ?? [null, name, ""];
    const kind = name === "this process" ? "here" : job === "ps" ? "ps" : "worker";
    const own = kind === "worker" ? letter++ : 0;
    if (!used.has(lane)) return [];
    const sign = { here: "○ this notebook", ps: `◆ ps ${index}`, worker: `● ${LETTERS[own % 26]} ${job} ${index}` }[kind];
    return [{ lane, name, sign, kind, letter: kind === "worker" ? LETTERS[own % 26] : "", colour: kind === "worker" ? `b${own % 6}` : kind }];
  });
}

// From and to of each stretch in which a lane lived: until its process died, and again from the next one's joining.
function lives(run, lane) {
  const told = run.events.filter((event) => event[2] === lane && ["gone", "joined"].includes(event[1]));
  const found = [];
  let from = told.length && told[0][1] === "joined" ? null : 0;
  for (const [tick, what] of told) {
    if (what === "gone" && from !== null) found.push([from, tick]);
    from = what === "joined" ? tick : null;
  }
  return from === null ? found : [...found, [from, run.end]];
}

// The pixels between which a lane does nothing, from one tick to another: gaps of a pixel and more.
function gaps(bars, lane, begin, end, x) {
  const found = [];
  let reached = x(begin);
  for (const bar of bars.filter((one) => one[0] === lane).sort((one, other) => one[2] - other[2])) {
    if (bar[2] > end || bar[2] + bar[3] < begin) continue;
    if (x(bar[2]) - reached >= 1) found.push([reached, x(bar[2])]);
    reached = Math.max(reached, x(bar[2] + bar[3]));
  }
  return x(end) - reached >= 1 ? [...found, [reached, x(end)]] : found;
}

// A box as a part of a path: many boxes are one node, which the page lays out sooner.
const boxed = (left, right, top, high) => `M${left},${top}H${right}v${high}H${left}z`;

// Everything of one run that doesn't change while it plays, in layers: what is still to come faint, what was full.
function scene(run, bars, { x, top, from, to, chosen, changed, dots, clip, inside }) {
  const rows = cast(run);
  const row = new Map(rows.map((one, place) => [one.lane, place]));
  const y = (lane) => top + TOP + row.get(lane) * STEP;
  const seen = (start, stop) => stop >= from && start <= to;
  const back = [];
  for (const { lane, kind } of rows) {
    for (const [begin, end] of lives(run, lane)) {
      const [left, right] = [x(Math.max(begin, from)), x(Math.min(end, to))];
      if (right <= left) continue;
      const at = { x: left, y: y(lane), width: right - left, height: HIGH };
      if (kind !== "worker" || run.thinned) back.push(svg("path", { d: `M${left},${at.y + HIGH / 2}H${right}`, class: "rule" }));
      else {
        const within = gaps(bars, lane, begin, end, x).flatMap(([x1, x2]) => (x2 > left && x1 < right ? [boxed(Math.max(left, x1), Math.min(right, x2), at.y, HIGH)] : []));
        back.push(svg("path", { d: within.join(""), class: "waits", fill: `url(#${dots})` }));
      }
    }
  }
  const look = (bar, place) => {
    const classes = ["one", rows[row.get(bar[0])].colour, run.recorded && x(bar[2] + bar[3]) - x(bar[2]) > 8 ? "stored" : "", ["", "raised", "lost"][bar[5]], place === chosen ? "chosen" : ""];
    return svg("rect", { x: x(bar[2]), width: Math.max(1.2, x(bar[2] + bar[3]) - x(bar[2])), y: y(bar[0]), height: HIGH, class: classes.join(" "), "data-place": place });
  };
  const shown = bars.flatMap((bar, place) => (seen(bar[2], bar[2] + bar[3]) ? [look(bar, place)] : []));
  const marks = [];
  if (!changed) {
    for (const [source, target, start, length] of run.moves) {
      if (seen(start, start + length)) marks.push(svg("line", { x1: x(start), x2: x(start + length), y1: y(source) + HIGH / 2, y2: y(target) + HIGH / 2, class: "way" }));
    }
    for (const [lane, tick] of run.marks) {
      if (seen(tick, tick)) marks.push(svg("path", { d: "M0,-6L5,0L0,6L-5,0Z", transform: `translate(${x(tick)},${y(lane) + HIGH / 2})`, class: "version" }));
    }
  }
  for (const [tick, what, lane] of run.events) {
    if (!seen(tick, tick) || !["gone", "joined"].includes(what)) continue;
    const d = what === "gone" ? "M-6,-6L6,6M-6,6L6,-6" : "M0,-11V11";
    marks.push(svg("path", { d, transform: `translate(${x(tick)},${y(lane) + HIGH / 2})`, class: what === "gone" ? "death" : "join" }));
  }
  const shifted = !changed ? [] : run.bars.filter((bar, place) => bars[place][2] !== bar[2] || bars[place][3] !== bar[3]);
  const outlines = shifted.map((bar) => boxed(x(bar[2]), Math.max(x(bar[2]) + 1.2, x(bar[2] + bar[3])), y(bar[0]) - 3, HIGH + 6));
  const before = svg("path", { d: outlines.join(""), class: "before" });
  const names = rows.map(({ sign, lane }) => svg("text", { x: 0, y: y(lane) + 14, class: "name" }, sign));
  const all = [...marks, ...shown];
  const nodes = [svg("text", { x: 0, y: top + 12, class: "head" }, run.title), ...names, ...back, svg("g", { class: "ghost", "clip-path": `url(#${inside})` }, all), svg("g", { "clip-path": `url(#${clip})` }, all.map((one) => one.cloneNode())), svg("g", { "clip-path": `url(#${inside})` }, [before])];
  return { nodes, y: (lane) => y(lane) + HIGH / 2, high: TOP + rows.length * STEP };
}

function packets(run, now, x, y) {
  return run.moves.flatMap(([source, target, start, length, nbytes]) => {
    if (now < start || now >= start + length) return [];
    const part = (now - start) / length;
    return [svg("circle", { cx: x(now), cy: y(source) + part * (y(target) - y(source)), r: Math.min(11, 3 + Math.log10(Math.max(1, nbytes)) * 0.8), class: "packet" }, [svg("title", {}, bytesInWords(nbytes))])];
  });
}

function tellOf(run, bars, place) {
  const [lane, name, start, length, , ended, number] = bars[place];
  const waited = run.edges.flatMap(([source, target]) => (target === place ? [source] : []));
  const own = cast(run).find((one) => one.lane === lane).sign;
  const numbered = number >= 0 ? ` ${number}` : "";
  const words = [`${own}: ${run.names[name]}${numbered}, from ${inWords(start)} for ${inWords(length)}`];
  if (ended) words.push(ENDED[ended]);
  const them = waited.map((one) => `${run.names[bars[one][1]]}${bars[one][6] >= 0 ? ` ${bars[one][6]}` : ""} of ${cast(run).find((its) => its.lane === bars[one][0]).sign}`);
  if (waited.length) words.push(`it waited for ${them.slice(0, 3).join(", ")}${them.length > 3 ? ` and ${them.length - 3} more` : ""}`);
  return `Bar ${place}. ${words.join("; ")}.`;
}

function tableOf(run, most = 300) {
  const table = document.createElement("table");
  table.createCaption().textContent = `${run.title}${run.bars.length > most ? `: the first ${most} of ${run.bars.length} bars` : ""}`;
  const line = (cells, kind) => {
    const row = table.insertRow();
    for (const cell of cells) row.appendChild(document.createElement(kind)).textContent = cell;
  };
  line(["bar", "process", "what", "begins", "takes", "ended", "waited for"], "th");
  run.bars.slice(0, most).forEach(([lane, name, start, length, , ended, number], place) => {
    const waited = run.edges.flatMap(([source, target]) => (target === place ? [source] : []));
    line([place, run.lanes[lane], `${run.names[name]}${number >= 0 ? ` ${number}` : ""}`, inWords(start), inWords(length), ENDED[ended], waited.join(", ")], "td");
  });
  for (const [tick, what, lane, words] of run.events) line(["", run.lanes[lane], what, inWords(tick), "", words, ""], "td");
  return table;
}
