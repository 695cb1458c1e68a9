// Darts at a quarter disc, and the estimates as more and more of them are counted, in the band of two standard errors.

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const many = (number) => number.toLocaleString("en");

// What is stored of a seed and a method, cut to so many darts; null where nothing is.
function storedRun(data, { samples, seed, method }) {
  const own = data.own.find(({ of }) => of.samples === samples && of.seed === seed && of.method === method);
  if (own) return own;
  const run = data.runs.find((one) => one.seed === seed && one.method === method);
  const running = run?.running.filter(([count]) => count <= samples) ?? [];
  if (running.at(-1)?.[0] !== samples) return null;
  const [, darts] = run.darts.find(([count]) => count === samples) ?? run.darts.at(-1);
  return { darts, running };
}

function square(side, darts, samples) {
  const shown = Math.min(samples, darts.length / 2);
  const [inside, outside] = [[], []];
  for (let one = 0; one < shown; one++) {
    const [x, y] = [darts[2 * one] / 255, darts[2 * one + 1] / 255];
    const [left, top] = [(4 + x * (side - 8)).toFixed(1), (side - 4 - y * (side - 8)).toFixed(1)];
    if (x * x + y * y < 1) inside.push(`M${left},${top}h0`);
    else outside.push(`M${left - 2},${top - 2}l4,4m-4,0l4,-4`);
  }
  const edge = side - 8;
  return [
    svg("path", { d: inside.join(""), class: "inside" }),
    svg("path", { d: outside.join(""), class: "outside" }),
    svg("path", { d: `M4,4A${edge},${edge} 0 0 1 ${side - 4},${side - 4}`, class: "arc" }),
    svg("rect", { x: 4, y: 4, width: edge, height: edge, class: "rule frame" }),
    svg("text", { x: side / 2, y: side + 14, "text-anchor": "middle", class: "tick" }, shown === samples ? "all darts" : `${many(shown)} of the ${many(samples)} darts`),
  ];
}

// [darts, value, standard error] against the number of darts.
function walk(wide, running) {
  const [left, right, top, bottom] = [48, wide - 8, 10, 222];
  const last = running.at(-1)[0];
  const x = logarithmic(running[0][0], Math.max(last, 2 * running[0][0]), left, right);
  const reach = Math.max(...running.map(([, value, error]) => Math.max(2 * error, Math.abs(value - Math.PI)))) * 1.05;
  const y = linear(Math.PI - reach, Math.PI + reach, bottom, top);
  const edge = (sign) => running.map(([count, , error]) => `${x(count)},${y(Math.PI + sign * 2 * error)}`);
  const path = running.map(([count, value]) => `${x(count)},${y(value)}`);
  const far = wide < 340 ? 4 : 7;
  return [
    ...axisLeft(y, { x: left, top, bottom, most: 9, words: (value) => value.toFixed(reach < 0.05 ? 4 : 2) }),
    ...axisBelow(x, { y: bottom, left, right, label: "darts", most: far }),
    svg("polygon", { points: [...edge(1), ...edge(-1).reverse()].join(" "), class: "band" }),
    svg("path", { d: `M${left},${y(Math.PI)}H${right}`, class: "pi" }),
    svg("text", { x: right - 2, y: y(Math.PI) - 5, "text-anchor": "end", class: "name" }, "π"),
    svg("polyline", { points: path.join(" "), class: "walk" }),
    ...path.map((point) => svg("circle", { cx: point.split(",")[0], cy: point.split(",")[1], r: 2.5, class: "step" })),
  ];
}

export function draw(root, data) {
  const paint = ({ darts, running }, { samples, seed, method }) => {
    const [count, value, error] = running.at(-1);
    const off = Math.abs(value - Math.PI) / error;
    left.paint(bytesOf(darts), samples);
    right.paint(running);
    const within = off <= 2 ? "inside" : "outside";
    const sentence = `${many(count)} darts: ${Math.abs(value - Math.PI).toPrecision(1)} from π, ${off.toFixed(1)} standard errors; ${within} the band, which holds about 19 of 20 estimates.`;
    right.image.setAttribute("aria-label", `Estimates of π as darts are added. ${sentence}`);
    return { figure: `${value.toPrecision(6)} ± ${error.toPrecision(1)}`, small: `${many(count)} darts of seed ${seed}, ${method}`, sentence, alt: `Darts at a quarter disc. ${sentence}` };
  };
  const state = exhibit(root, data, paint, { derive: (settings) => storedRun(data, settings) });
  state.picture.classList.add("throw");
  const places = ["disc", "path"].map((name) => {
    const place = document.createElement("div");
    place.className = name;
    state.picture.append(place);
    return place;
  });
  const left = chart(places[0], { high: 262, least: 240 }, (wide, darts, samples) => square(240, darts, samples));
  const right = chart(places[1], { high: 262, least: 240 }, walk);
  state.slider("samples", { label: "darts", stops: data.stops, words: many });
  state.choice("method", { label: "method", options: data.methods.map((name) => [name, name]) });
  state.number("seed", { label: "seed", least: 0, most: 2 ** 31 - 1 });
  state.button("Another seed", () => state.set({ seed: (state.settings.seed + 1) % 3 }));
  state.start();
}
