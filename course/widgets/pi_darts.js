// Darts at a quarter disc, and the estimates as more and more of them are counted, in the band of two standard errors.

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const many = (number) => number.toLocaleString("en");

// What is stored of a seed and a method, cut to so many darts; null where nothing is. Servers that share one stream have
// as many different darts as one of them throws, and claim the error of all.
function storedRun(data, settings) {
  const own = data.own.find(({ of }) => Object.entries(of).every(([name, value]) => settings[name] === value));
  if (own) return own;
  const { samples, seed, method } = settings;
  const run = data.runs.find((one) => one.seed === seed && one.method === method);
  const shared = sharing(settings);
  const stops = data.stops.filter((stop) => stop <= samples && stop / shared >= data.fewest);
  const running = stops.map((stop) => {
    const found = run?.running.find(([count]) => count === Math.floor(stop / shared));
    return found ? [found[0] * shared, found[1], found[2] / Math.sqrt(shared)] : null;
  });
  if (running.at(-1) == null) return null;
  const [, darts] = run.darts.find(([count]) => count === Math.floor(samples / shared)) ?? run.darts.at(-1);
  return { darts, running: running.filter(Boolean) };
}

const sharing = ({ servers, streams }) => (streams === "same" ? servers : 1);

// Other seeds' estimates: [darts of all servers, [estimate, …]] for each stop that is stored, up to so many darts.
function otherSeeds({ others, stops, fewest }, settings) {
  const shared = sharing(settings);
  const whole = new Int16Array(bytesOf(others.errors[settings.method]).buffer);
  const seeds = whole.length / others.counts.length;
  return stops.flatMap((stop) => {
    const place = others.counts.indexOf(Math.floor(stop / shared));
    if (place < 0 || stop > settings.samples || stop / shared < fewest) return [];
    const error = (seed) => whole[seed * others.counts.length + place] / others.scale / Math.sqrt(others.counts[place]);
    return [[stop, [...Array(seeds).keys()].map((seed) => Math.PI + error(seed))]];
  });
}

// The darts by server: dart i is server i mod n's; of one stream each dart is thrown by all of them.
function square(side, darts, { samples, servers, streams }) {
  const same = streams === "same" && servers > 1;
  const different = same ? Math.floor(samples / servers) : samples;
  const shown = Math.min(different, Math.floor((darts.length / 2) * (same ? Math.max(1 / servers, 0.125) : 1)));
  const marks = new Map();
  const add = (name, mark) => marks.set(name, (marks.get(name) ?? "") + mark);
  for (let one = 0; one < shown; one++) {
    const [x, y] = [darts[2 * one] / 255, darts[2 * one + 1] / 255];
    const [left, top] = [(4 + x * (side - 8)).toFixed(1), (side - 4 - y * (side - 8)).toFixed(1)];
    const server = servers === 1 ? "" : same ? "all" : `b${one % servers % 6}`;
    if (x * x + y * y < 1) add(`inside ${server}`, `M${left},${top}h0`);
    else add(`outside ${server}`, `M${left - 2},${top - 2}l4,4m-4,0l4,-4`);
  }
  const edge = side - 8;
  const words = same ? `${many(shown)} of ${many(different)} places:` : shown === samples ? "all darts" : `${many(shown)} of the ${many(samples)} darts`;
  return [
    ...[...marks].map(([name, d]) => svg("path", { d, class: name })),
    svg("path", { d: `M4,4A${edge},${edge} 0 0 1 ${side - 4},${side - 4}`, class: "arc" }),
    svg("rect", { x: 4, y: 4, width: edge, height: edge, class: "rule frame" }),
    svg("text", { x: side / 2, y: side + 14, "text-anchor": "middle", class: "tick" }, words),
    ...(same ? [svg("text", { x: side / 2, y: side + 31, "text-anchor": "middle", class: "tick" }, `all ${servers} servers threw there`)] : []),
    ...(servers > 1 && servers < 7 && !same ? letters(side, servers) : []),
  ];
}

const letters = (side, servers) => [..."ABCDEF".slice(0, servers)].flatMap((letter, server) => {
  const x = side / 2 + 34 * (server - (servers - 1) / 2);
  return [svg("circle", { cx: x - 8, cy: side + 28, r: 5, class: `server b${server}` }), svg("text", { x, y: side + 32, class: "tick" }, letter)];
});

// [darts, value, standard error] against the number of darts, other seeds' values, and Sobol's of this seed.
function walk(wide, running, others, sobol) {
  const [left, right, top, bottom] = [48, wide - 20, 10, 222];
  const last = running.at(-1)[0];
  const x = logarithmic(running[0][0], Math.max(last, 2 * running[0][0]), left, right);
  const away = (value) => Math.abs(value - Math.PI);
  const crowd = others.flatMap(([, values]) => values.map(away));
  const reach = Math.max(...running.map(([, value, error]) => Math.max(2 * error, away(value))), ...crowd) * 1.05;
  const y = linear(Math.PI - reach, Math.PI + reach, bottom, top);
  const edge = (sign) => running.map(([count, , error]) => `${x(count)},${y(Math.PI + sign * 2 * error)}`);
  const path = (list) => list.map(([count, value]) => `${x(count)},${y(value)}`);
  const dots = others.filter(([count]) => count >= running[0][0]).map(([count, values]) => values.map((value) => `M${x(count).toFixed(1)},${y(value).toFixed(1)}h0`).join(""));
  const end = sobol.length > 1 ? [svg("polyline", { points: path(sobol).join(" "), class: "sobol" }), svg("text", { x: left + 8, y: bottom - 8, class: "name sobol-name" }, "dashed: Sobol")] : [];
  return [
    ...axisLeft(y, { x: left, top, bottom, most: 9, words: (value) => value.toFixed(reach < 0.05 ? 4 : 2) }),
    ...axisBelow(x, { y: bottom, left, right, label: others.length ? "darts; small dots: 20 other seeds" : "darts", most: wide < 340 ? 4 : 7 }),
    svg("polygon", { points: [...edge(1), ...edge(-1).reverse()].join(" "), class: "band" }),
    svg("path", { d: `M${left},${y(Math.PI)}H${right}`, class: "pi" }),
    svg("text", { x: right - 2, y: y(Math.PI) - 5, "text-anchor": "end", class: "name" }, "π"),
    svg("path", { d: dots.join(""), class: "others" }),
    ...end,
    svg("polyline", { points: path(running).join(" "), class: "walk" }),
    ...path(running).map((point) => svg("circle", { cx: point.split(",")[0], cy: point.split(",")[1], r: 2.5, class: "step" })),
  ];
}

// What twenty other seeds say of the band at the last number of darts; nothing where they are not stored.
function inBand(others, [count, , error]) {
  const values = others.find(([stop]) => Math.abs(stop - count) < 16)?.[1];
  if (!values) return "";
  const within = values.filter((value) => Math.abs(value - Math.PI) <= 2 * error).length;
  return ` Of ${values.length} other seeds ${within} end inside it.`;
}

export function draw(root, data) {
  const paint = ({ darts, running }, settings) => {
    const { samples, seed, method, servers } = settings;
    const [count, value, error] = running.at(-1);
    const off = Math.abs(value - Math.PI) / error;
    const others = otherSeeds(data, settings);
    const sobol = method === "sobol" ? [] : (storedRun(data, { ...settings, method: "sobol", streams: "own" })?.running ?? []).filter(([stop]) => stop >= running[0][0]);
    left.paint(bytesOf(darts), settings);
    right.paint(running, others, sobol);
    stops(servers);
    const within = off <= 2 ? "inside" : "outside";
    const different = Math.floor(samples / sharing(settings));
    const trap = sharing(settings) > 1 ? `All ${servers} servers threw the same ${many(different)} darts, so the error is that of ${many(different)}: the band is ${+Math.sqrt(servers).toPrecision(2)} times too narrow.` : "";
    const sentence = `${many(count)} darts: ${Math.abs(value - Math.PI).toPrecision(1)} from π, ${off.toFixed(1)} standard errors; ${within} the band, which ${trap ? "should hold" : "holds"} about 19 of 20 estimates.${inBand(others, running.at(-1))} ${trap}`.trim();
    right.image.setAttribute("aria-label", `Estimates of π as darts are added. ${sentence}`);
    const by = servers > 1 ? `, ${servers} servers` : "";
    return { figure: `${value.toPrecision(6)} ± ${error.toPrecision(1)}`, small: `${many(count)} darts of seed ${seed}, ${method}${by}`, sentence, alt: `Darts at a quarter disc. ${sentence}` };
  };
  const stops = (servers) => {
    thrown.refit(data.stops.filter((stop) => stop >= data.fewest * servers));
    thrown.set(state.settings.samples);
  };
  const derive = (settings) => {
    const least = data.fewest * settings.servers; // as Python does: more servers need more darts
    if (settings.samples < least) settings.samples = data.stops.find((stop) => stop >= least);
    return storedRun(data, settings);
  };
  const state = exhibit(root, data, paint, { derive });
  state.picture.classList.add("throw");
  const places = ["disc", "path"].map((name) => {
    const place = document.createElement("div");
    place.className = name;
    state.picture.append(place);
    return place;
  });
  const left = chart(places[0], { high: 280, least: 240 }, (wide, darts, settings) => square(240, darts, settings));
  const right = chart(places[1], { high: 262, least: 240 }, walk);
  const thrown = state.slider("samples", { label: "darts", stops: [...data.stops], words: many });
  state.choice("method", { label: "method", options: data.methods.map((name) => [name, name]) });
  state.slider("servers", { label: "servers", stops: data.servers });
  state.choice("streams", { label: "random numbers", options: [["own", "a stream for each server"], ["same", "the same seed for all"]] });
  state.number("seed", { label: "seed", least: 0, most: 2 ** 31 - 1 });
  state.button("Another seed", () => state.set({ seed: (state.settings.seed + 1) % 3 }));
  state.start();
}
