// Pictures of a training, one below a heading each: losses of each worker's batches, how late gradients were, the rate.
// Of an answer they read `losses` (worker -> [update, loss]), `staleness` (shares of the gradients, by updates late, the
// last of them "and more" where `more` is true) and `rates` ([second, updates a second]).

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const [HEAD, LOW, HIGH] = [24, 196, 236]; // where the pictures' own areas begin and end, and their height
const heading = (words) => svg("text", { x: 0, y: 12, class: "name bold" }, words);
const letterOf = (worker) => LETTERS[worker % LETTERS.length];

function lossPanel(wide, { losses, limit = 0 }) {
  const [left, right] = [44, wide - 14];
  const points = Object.values(losses).flat().filter(([, loss]) => loss > 0);
  if (!points.length) return [heading("no finite loss")];
  const x = linear(0, Math.max(limit, ...points.map(([step]) => step)), left, right);
  const values = points.map(([, loss]) => loss);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const y = logarithmic(least / 1.2, Math.max(most, 3 * least) * 1.2, LOW, HEAD);
  const mark = (who, [step, loss]) => svg("text", { x: x(step), y: y(loss) + 3, "text-anchor": "middle", class: `loss own${who % 6}` }, letterOf(who));
  const shown = Math.max(8, Math.floor(120 / Object.keys(losses).length)); // letters of a worker: more hide one another
  return [
    heading("loss of each worker's batches"),
    ...axisBelow(x, { y: LOW, left, right, label: "updates", most: wide < 300 ? 3 : 4 }),
    ...axisLeft(y, { x: left, top: HEAD, bottom: LOW, right, words: (value) => `${+value.toPrecision(2)}` }),
    ...Object.entries(losses).flatMap(([who, own]) => own.filter(([, loss]) => loss > 0).filter((_, at) => at % Math.ceil(own.length / shown) === 0).map((one) => mark(who, one))),
  ];
}

function latePanel(wide, { staleness, more = false }) {
  const [left, right, shown] = [34, wide - 6, staleness.slice(0, 9)];
  const [x, y] = [linear(-0.5, Math.max(2.5, shown.length - 0.5), left, right), linear(0, 100, LOW, HEAD)];
  const width = Math.max(4, x(1) - x(0) - 6);
  const name = (updates) => (more && updates === shown.length - 1 ? `${updates}+` : `${updates}`);
  return [
    heading("how late: % of the gradients"),
    ...axisLeft(y, { x: left, top: HEAD, bottom: LOW, right, most: 4 }),
    svg("path", { d: `M${left},${LOW}H${right}`, class: "rule" }),
    ...shown.flatMap((share, updates) => [svg("rect", { x: x(updates) - width / 2, width, y: y(100 * share), height: LOW - y(100 * share), class: "late" }), svg("text", { x: x(updates), y: LOW + 17, "text-anchor": "middle", class: "tick" }, name(updates))]),
    svg("text", { x: (left + right) / 2, y: LOW + 34, "text-anchor": "middle", class: "tick" }, "updates late"),
  ];
}

function ratePanel(wide, { rates }) {
  const [left, right] = [48, wide - 8];
  if (rates.length < 2) return [heading("updates a second"), svg("text", { x: left, y: LOW / 2, class: "tick" }, "not known yet")];
  const x = linear(0, rates.at(-1)[0], left, right);
  const y = linear(0, 1.1 * Math.max(...rates.map(([, rate]) => rate)), LOW, HEAD);
  return [
    heading("updates a second"),
    ...axisBelow(x, { y: LOW, left, right, label: "seconds", most: wide < 300 ? 3 : 4 }),
    ...axisLeft(y, { x: left, top: HEAD, bottom: LOW, right, most: 5 }),
    svg("polyline", { points: rates.map(([second, rate]) => `${x(second)},${y(rate)}`).join(" "), class: "rate" }),
  ];
}

// One place for each of `panels` (functions like those above) in the exhibit's picture; gives their charts.
function panels(state, ...drawn) {
  state.picture.classList.add("panels");
  return drawn.map((nodes) => {
    const place = document.createElement("div");
    state.picture.append(place);
    return chart(place, { high: HIGH, least: 200 }, nodes);
  });
}

const lateInWords = (staleness) => `Gradients by how late they were: ${staleness.map((share, updates) => `${Math.round(100 * share)} % ${updates} updates`).join(", ")}.`;
const lossInWords = (losses) => `Losses of the last batches: ${Object.entries(losses).map(([who, own]) => `worker ${letterOf(who)} ${own.at(-1)?.[1] ?? "none"}`).join(", ")}.`;
