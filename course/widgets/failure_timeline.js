// The picture of a training that was hit: a lane for each process, and below, on the same seconds, versions, losses and
// staleness; and, in words, what was true at a moment of it. It reads what `FailureLab.answer` gives.

const LETTERS = "ABC";
const PANELS = [["version", 78], ["loss", 78], ["staleness", 52]];
const [FIRST, LANE, BAR, BETWEEN] = [24, 26, 15, 26]; // pixels above the lanes, from lane to lane, of a bar, between panels
const STARTS = "The processes start: no update yet";
const clock = (seconds) => `${seconds.toFixed(2)} s`;
const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);

function named(task) {
  const [, job, index] = /^\/job:(\w+)\/task:(\d+)/.exec(task);
  if (job === "ps") return { who: "the parameter server", lane: "◆ ps 0", brief: "◆ ps 0", button: "ps 0", kind: "ps" };
  const letter = LETTERS[index];
  return { who: letter, lane: `● ${letter} worker ${index}`, brief: `● ${letter}`, button: letter, kind: `w${index}` };
}

const doing = (answer, task, now) => (answer.lives[task].find(([, end]) => now < end) ?? answer.lives[task].at(-1))[2];
const latest = (pairs, now) => pairs.findLast(([at]) => at <= now);
const isSlow = (answer, task, now) => answer.events.findLast(([at, what, whose]) => at <= now && whose === task && ["slowed", "quick again", "killed"].includes(what))?.[1] === "slowed";

// What is true at a moment: who is dead, who waits, who goes on.
function standing(answer, now) {
  if (!answer.versions.length) return STARTS;
  if (answer.ended && now >= answer.until) return answer.finding;
  const those = (what) => Object.keys(answer.lives).filter((task) => doing(answer, task, now) === what);
  const told = (what, one, many, kind = "") => {
    const names = those(what).map(named).flatMap((own) => (own.kind === kind ? [] : [own.who]));
    return names.length ? [`${listed(names)} ${names.length > 1 ? many : one}`] : [];
  };
  const slow = those("works").filter((task) => isSlow(answer, task, now)).map((task) => named(task).who);
  const parts = [...told("dead", "is dead", "are dead"), ...told("frozen", "is frozen", "are frozen"), ...told("waits", "waits", "wait"), ...(slow.length ? [`${listed(slow)} ${slow.length > 1 ? "are" : "is"} slow`] : [])];
  if (!parts.length) return "Everybody works";
  const words = [...parts, ...told("works", "goes on", "go on", "ps")].join("; ");
  return words[0].toUpperCase() + words.slice(1);
}

// The numbers of a moment: staleness is the mean of the second before it.
function numbers(answer, now) {
  const [, version] = latest(answer.versions, now) ?? [0, 0];
  const last = Object.values(answer.losses).map((pairs) => latest(pairs, now) ?? [-1, null]).reduce((one, other) => (other[0] > one[0] ? other : one), [-1, null]);
  const means = Object.entries(answer.late).flatMap(([who, pairs]) => {
    const near = pairs.filter(([at]) => at <= now && at > now - 1).map(([, late]) => late);
    return near.length ? [`${LETTERS[who]} ${(near.reduce((sum, late) => sum + late, 0) / near.length).toFixed(1)}`] : [];
  });
  const loss = last[0] < 0 ? "" : `, loss ${last[1] ?? "not finite"}`;
  const ended = answer.ended && now >= answer.until ? ` Ended: ${answer.ended.replace(/\.$/, "")}.` : "";
  return `At ${clock(now)}: version ${version.toLocaleString("en")}${loss}; staleness in the second before: ${means.join(", ") || "no gradient arrived"}.${ended}`;
}

function laneNodes(answer, tasks, lane, x, fill) {
  const y = (row) => lane.top(row);
  const bar = ([begin, end, what], row, kind) => {
    const at = { x: x(begin), y: y(row), width: Math.max(1, x(end) - x(begin)), height: BAR };
    const middle = y(row) + BAR / 2;
    if (what === "works") return [svg("rect", { ...at, class: `works ${kind}` })];
    if (what === "waits") return [svg("rect", { ...at, ...fill("dots") })];
    if (what === "frozen") return [svg("rect", { ...at, class: `frozen ${kind}` }), ...(at.width > 50 ? [svg("text", { x: at.x + at.width / 2, y: middle + 4.5, "text-anchor": "middle", class: "tick" }, "frozen")] : [])];
    const back = end < answer.until ? [svg("path", { d: `M${x(end)},${y(row) - 4}v${BAR + 8}`, class: "back" })] : [];
    return [svg("path", { d: `M${x(begin)},${middle}H${x(end)}`, class: "gone" }), svg("path", { d: `M${x(begin) - 6},${middle - 6}l12,12m-12,0l12,-12`, class: "cross" }), ...back];
  };
  const saved = answer.saved.map(([at]) => svg("path", { d: `M${x(at)},${y(0)}v${BAR}`, class: "saved" }));
  const restores = answer.events.filter(([, what]) => what === "restored").flatMap(([at, , , step]) => {
    const from = answer.saved.findLast(([when, version]) => when <= at && version === step);
    return from ? [svg("path", { d: `M${x(from[0])},${y(0) + BAR}L${x(at)},${y(1)}`, class: "resumed" }), svg("path", { d: `M${x(at) - 5},${y(1) - 8}l5,8l5,-8Z`, class: "arrow" })] : [];
  });
  return [svg("path", { d: `M${lane.left},${y(0) + BAR}H${lane.right}`, class: "grid" }), ...saved, ...tasks.flatMap((task, row) => answer.lives[task].map((stretch) => bar(stretch, row + 1, named(task).kind))), ...restores];
}

// The versions as steps, with the way back to a checkpoint dashed; losses and staleness as dots, a colour a worker.
function panelNodes(name, answer, x, y) {
  const dots = (series) => Object.entries(series).map(([who, pairs]) => svg("path", { d: pairs.filter(([, value]) => value !== null && Number.isFinite(y(value))).map(([at, value]) => `M${x(at)},${y(value)}h0`).join(""), class: `dots w${who}` }));
  if (name === "loss") return dots(answer.losses);
  if (name === "staleness") return dots(answer.late);
  const ways = answer.events.filter(([, what]) => what === "restored").flatMap(([at, , , step]) => {
    const from = answer.saved.findLast(([when, version]) => when <= at && version === step);
    return from ? [svg("path", { d: `M${x(from[0])},${y(step)}H${x(at)}`, class: "resumed" })] : [];
  });
  const steps = answer.versions.map(([at, step], place) => (place ? `H${x(at)}V${y(step)}` : `M${x(at)},${y(step)}`)).join("");
  return [svg("path", { d: steps, class: "version" }), ...answer.saved.map(([at, step]) => svg("path", { d: `M${x(at)},${y(step) - 5}v10`, class: "saved" })), ...ways];
}

function scaleOf(name, answer, low, top) {
  const series = { version: { ps: answer.versions }, loss: answer.losses, staleness: answer.late }[name];
  const values = Object.values(series).flat().map(([, value]) => value).filter((value) => value !== null && (name !== "loss" || value > 0));
  const [least, most] = [Math.min(...values, Infinity), Math.max(...values, -Infinity)];
  if (name !== "loss") return linear(0, Math.max(1, most), low, top);
  return values.length ? logarithmic(least / 1.2, Math.max(most, 3 * least) * 1.2, low, top) : logarithmic(0.1, 10, low, top);
}

// Numbers of the events above the lanes, as the list below has them; those that would touch share a label.
function numberLabels(answer, x, bottom) {
  const labels = [];
  answer.events.forEach(([at], place) => {
    const before = labels.at(-1);
    if (before && x(at) - before.x < 24) before.last = place + 1;
    else labels.push({ x: x(at), first: place + 1, last: place + 1 });
  });
  const words = ({ first, last }) => (first === last ? `${first}` : `${first}–${last}`);
  return labels.flatMap((label) => [svg("path", { d: `M${label.x},16V${bottom}`, class: "event" }), svg("text", { x: label.x, y: 12, "text-anchor": "middle", class: "tick" }, words(label))]);
}

const tall = (answer) => FIRST + LANE * (1 + Object.keys(answer.lives).length) + PANELS.reduce((sum, [, high]) => sum + high + BETWEEN, 0) + 38;

function timeline(wide, answer, fill, own) {
  const tasks = Object.keys(answer.lives);
  const names = ["○ notebook", ...tasks.map((task) => (wide < 500 ? named(task).brief : named(task).lane))];
  const lane = lanes(names.map((name) => [name]), { wide, step: LANE, bar: BAR, begin: FIRST });
  const [left, right] = [lane.left, lane.right - 4];
  const x = linear(0, answer.until, left, right);
  const [still, moving] = [[...lane.nodes], laneNodes(answer, tasks, { ...lane, right }, x, fill)];
  let top = lane.bottom + BETWEEN - 8;
  for (const [name, high] of PANELS) {
    const y = scaleOf(name, answer, top + high, top);
    still.push(...axisLeft(y, { x: left, top, bottom: top + high, right, most: 3 }), svg("path", { d: `M${left},${top + high}H${right}`, class: "rule" }), svg("text", { x: 0, y: top + 4, class: "name bold" }, name));
    moving.push(...panelNodes(name, answer, x, y));
    top += high + BETWEEN;
  }
  const low = top - BETWEEN;
  const axis = axisBelow(x, { y: low, left, right, label: "seconds", most: wide < 500 ? 5 : 10, words: String });
  const until = svg("clipPath", { id: own }, [svg("rect", { x: 0, y: 0, width: 0, height: low + 2, class: "until" })]);
  const events = numberLabels(answer, x, low);
  return [until, ...still, ...axis, ...events, svg("g", { class: "ghost" }, moving.flat().map((one) => one.cloneNode(true))), svg("g", { "clip-path": `url(#${own})` }, moving.flat())];
}
