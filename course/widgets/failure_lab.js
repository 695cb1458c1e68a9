// A training that is hit while it runs: loss, version and staleness against time, and what happened when.

const LETTERS = "ABC";
const HITS = [["kill", "✕ Kill"], ["freeze", "Freeze"], ["thaw", "Thaw"], ["slow", "Slow"], ["quick", "Quick again"]];
const PANELS = [["loss", 96], ["version", 70], ["staleness", 70]];
const [ROW, BETWEEN] = [16, 26];

// Each event in the lowest row in which its words touch no other's.
function placed(events, x, right) {
  const taken = [];
  return events.map(([seconds, words, good]) => {
    const long = 7 * (words.length + 3);
    const flips = x(seconds) + long > right;
    const [from, to] = flips ? [x(seconds) - long, x(seconds)] : [x(seconds), x(seconds) + long];
    let row = taken.findIndex((end) => end <= from);
    if (row < 0) row = taken.length;
    taken[row] = to;
    return { seconds, words, good, flips, row };
  });
}

function timeline(wide, answer) {
  const [left, right] = [54, wide - 8];
  const x = linear(0, answer.until, left, right);
  const marks = placed(answer.events, x, right);
  let top = 8 + ROW * Math.max(0, ...marks.map((mark) => mark.row + 1));
  const first = top;
  const parts = [];
  const letters = (series, y) => Object.entries(series).flatMap(([who, pairs]) => pairs.filter(([, value]) => value !== null && y(value) !== null).map(([at, value]) => svg("circle", { cx: x(at), cy: y(value), r: 1.8, class: `w${who}` })));
  for (const [name, tall] of PANELS) {
    const bottom = top + tall;
    const series = name === "version" ? { ps: answer.versions } : name === "loss" ? answer.losses : answer.late;
    const values = Object.values(series).flat().map(([, value]) => value).filter((value) => value !== null && (name !== "loss" || value > 0));
    const y = name === "loss" ? logarithmic(Math.min(...values, 1), Math.max(...values, 2), bottom, top) : linear(0, Math.max(1, ...values), bottom, top);
    parts.push(...axisLeft(y, { x: left, top, bottom, right, most: 3, words: (value) => short(value) }), svg("path", { d: `M${left},${bottom}H${right}`, class: "rule" }));
    parts.push(svg("text", { x: left + 4, y: top - 4, class: "name bold" }, name));
    if (name === "version") {
      parts.push(svg("path", { d: answer.versions.map(([at, step], place) => (place ? `H${x(at)}V${y(step)}` : `M${x(at)},${y(step)}`)).join(""), class: "version" }));
      parts.push(...answer.saved.map(([at, step]) => svg("path", { d: `M${x(at)},${y(step) - 6}v12`, class: "saved" })));
    } else parts.push(...letters(series, name === "loss" ? (value) => (value > 0 ? y(value) : null) : y));
    top = bottom + BETWEEN;
  }
  const end = top - BETWEEN;
  for (const { seconds, words, good, flips, row } of marks) {
    const kind = good ? "good" : "bad";
    parts.push(svg("path", { d: `M${x(seconds)},${first - 6 - ROW * row}V${end}`, class: `event ${kind}` }));
    parts.push(svg("text", { x: x(seconds) + (flips ? -4 : 4), y: first - 10 - ROW * row, "text-anchor": flips ? "end" : "start", class: `name said-${kind}` }, `${good ? "◆" : "✕"} ${words}`));
  }
  return [...parts, ...axisBelow(x, { y: end, left, right, label: "seconds; a short upright line: a checkpoint", most: wide < 500 ? 5 : 10, words: String })];
}

const tall = (wide, answer) => {
  const rows = Math.max(0, ...placed(answer.events, linear(0, answer.until, 54, wide - 8), wide - 8).map((mark) => mark.row + 1));
  return 8 + ROW * rows + PANELS.reduce((sum, [, high]) => sum + high + BETWEEN, 0) + 16;
};

export function draw(root, data) {
  const hits = [];
  const told = (works) => {
    for (const one of hits) one.disabled = !works;
    if (again) again.disabled = works;
  };
  let again = null;
  const state = exhibit(root, data, (answer) => picture.paint(answer), { told });
  const picture = chart(state.picture, { high: tall }, timeline);
  picture.image.classList.add("faults");
  state.choice("mode", { label: "rule", options: [["async", "asynchronous: nobody waits"], ["sync", "synchronous: everybody waits"]] });
  state.slider("workers", { label: "workers", stops: [2, 3], settled: true });
  state.slider("seconds", { label: "it trains for", stops: data.lengths, words: (seconds) => `${seconds} s`, settled: true });
  const workers = [0, 1, 2].map((worker) => [`/job:worker/task:${worker}`, `● worker ${LETTERS[worker]} (${worker})`]);
  let target = workers[1][0];
  choice(root.querySelector(".sliders"), { name: "target", label: "worker to hit", options: workers, value: target, changed: (task) => (target = task) });
  for (const [action, words] of HITS) hits.push(state.button(words, () => state.act("press", action, target)));
  hits.push(state.button("✕ Kill parameter server", () => state.act("press", "kill", data.server)));
  again = state.button("Train again", () => state.act("refresh"));
  state.start();
}
