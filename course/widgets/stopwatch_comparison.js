// Five stopwatches on one product: what each reads, by powers of ten, and what host and GPU did while the chosen one ran.

const LOOKS = { launch: ["cpu", true], host: ["cpu", true], wait: ["dots", true], "set-up": ["gpu", false], work: ["gpu", false], copy: ["bytes", false] };
const UNITS = [["s", 1e6], ["ms", 1e3], ["µs", 1]];

export function draw(root, data) {
  let at = null; // the moment of the race that is shown, in microseconds since its first
  const laneOf = (lane) => (lane === "host" ? ["■ host"] : `▲ ${lane.replace("gpu", "GPU")}`.split(/ (?=c)/)); // "copy in" on a line of its own
  const race = (wide, { spans, read, title }) => {
    const names = ["host", ...[...new Set(spans.map(([lane]) => lane))].filter((lane) => lane !== "host").sort()];
    const first = Math.min(...spans.map(([, , start]) => start));
    const length = Math.max(...spans.map(([, , , stop]) => stop)) - first;
    const [unit, micro] = UNITS.find(([, size]) => length >= size) ?? UNITS[2];
    const rows = lanes(names.map(laneOf), { wide, step: 40, bar: 22, begin: 34 });
    const x = linear(0, length / micro, rows.left, rows.right);
    const parts = [svg("text", { x: 0, y: 14, class: "name bold" }, title), ...rows.nodes];
    for (const [lane, what, start, stop] of spans) {
      const [role, real] = LOOKS[what];
      const [from, to] = [x((start - first) / micro), x((stop - first) / micro)];
      const begun = at === null || start - first <= at;
      const bar = svg("rect", { x: from, width: Math.max(1, to - from), y: rows.top(names.indexOf(lane)), height: rows.bar, ...picture.fill(role, real), opacity: begun ? 1 : 0.15 });
      bar.append(svg("title", {}, `${lane}: ${what}, ${+((stop - start) / micro).toPrecision(3)} ${unit}`));
      parts.push(bar);
      if (to - from > 7.5 * what.length) parts.push(svg("text", { x: (from + to) / 2, y: rows.top(names.indexOf(lane)) + 15, "text-anchor": "middle", class: `name on ${real && role === "cpu" ? "full" : ""}`, opacity: begun ? 1 : 0.15 }, what));
    }
    for (const moment of read) parts.push(svg("path", { d: `M${x((moment - first) / micro)},22V${rows.bottom - 8}`, class: "read" }));
    if (at !== null) parts.push(svg("path", { d: `M${x(at / micro)},26V${rows.bottom - 8}`, class: "hand" }));
    return [...parts, ...axisBelow(x, { y: rows.bottom - 8, left: rows.left, right: rows.right, label: `${unit}, modelled; red: the stopwatch is read`, most: wide < 500 ? 4 : 8 })];
  };
  const paint = (answer, { size, watch }) => {
    const chosen = answer.readings[data.watches.indexOf(watch)];
    const least = Math.log10(0.5);
    const widest = Math.log10(Math.max(...answer.readings.map((one) => one.seconds))) - least;
    bars(
      list,
      answer.readings.map((one, place) => ({
        name: `${one.right ? "✓" : "✕"} ${data.watches[place]}`,
        role: "gpu",
        share: (Math.log10(one.seconds) - least) / widest,
        words: `${one.words}, ${one.compared}`,
        bold: one === chosen,
      })),
    );
    at = null;
    moment.reach(Math.max(...chosen.spans.map(([, , , stop]) => stop)) - Math.min(...chosen.spans.map(([, , start]) => start)));
    picture.paint(chosen);
    return {
      figure: chosen.words,
      small: `modelled, ${watch}; n = ${size}`,
      right: chosen.right,
      sentence: chosen.sentence,
      alt: `${chosen.title}. ${watch}: ${chosen.words}, ${chosen.compared}. ${answer.label}.`,
    };
  };
  const state = exhibit(root, data, paint);
  const list = document.createElement("div");
  list.className = "list";
  state.picture.append(list);
  const picture = chart(state.picture, { high: (wide, { spans }) => 34 + 40 * new Set(["host", ...spans.map(([lane]) => lane)]).size + 30 }, race);
  picture.image.classList.add("race");
  const inWords = (micro) => {
    const [unit, size] = UNITS.find(([, one]) => micro >= one) ?? UNITS[2];
    return `${+(micro / size).toPrecision(3)} ${unit}`;
  };
  const moment = scrubber(state.picture, {
    end: 1,
    words: inWords,
    speed: () => moment.input.max / 6, // in slow motion: a race takes six seconds
    moved: (micro) => {
      at = micro;
      picture.repaint();
    },
  });
  state.slider("size", { label: "matrix size n", stops: data.sizes });
  state.choice("watch", { label: "stopwatch", options: data.watches.map((name) => [name, name]) });
  state.choice("model", { label: "GPU model", options: data.models.map((name) => [name, name]) });
  state.start();
}
