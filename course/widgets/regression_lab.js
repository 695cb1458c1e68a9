// A line that several workers train: the line among its points, each worker's losses, and how late gradients were.

const LETTERS = "ABC";

export function draw(root, data) {
  const low = 196; // where the pictures' own areas end
  const extent = (values) => [Math.min(...values), Math.max(...values)];
  const fit = (wide, { line }) => {
    const [left, right] = [34, wide - 6];
    const [from, to] = extent(data.x);
    const [least, most] = extent(data.y);
    const [x, y] = [linear(from, to, left + 4, right - 4), linear(least - 0.5, most + 0.5, low, 24)];
    const through = ([slope, intercept]) => `M${x(from)},${y(slope * from + intercept)}L${x(to)},${y(slope * to + intercept)}`;
    const clip = svg("clipPath", { id: `${data.key}-fit` }, [svg("rect", { x: left, y: 20, width: right - left, height: low - 20 })]);
    return [
      clip,
      svg("text", { x: 0, y: 12, class: "name bold" }, line ? "trained; dashed: the best" : "no line; dashed: the best"),
      ...axisBelow(x, { y: low, left, right, label: "x", most: 4 }),
      ...axisLeft(y, { x: left, top: 24, bottom: low, right, most: 5 }),
      ...data.x.map((place, at) => svg("circle", { cx: x(place), cy: y(data.y[at]), r: 2, class: "point" })),
      svg("path", { d: through(data.best), class: "best" }),
      ...(line ? [svg("path", { d: through(line), class: "trained", "clip-path": `url(#${data.key}-fit)` })] : []),
    ];
  };
  const losses = (wide, answer) => {
    const [left, right] = [44, wide - 14];
    const points = Object.values(answer.losses).flat().filter(([, loss]) => loss > 0);
    if (!points.length) return [svg("text", { x: 0, y: 12, class: "name bold" }, "no finite loss")];
    const x = linear(0, Math.max(...points.map(([step]) => step)), left, right);
    const [least, most] = extent(points.map(([, loss]) => loss));
    const y = logarithmic(least / 1.2, Math.max(most, 3 * least) * 1.2, low, 24);
    const mark = (who, [step, loss]) => svg("text", { x: x(step), y: y(loss) + 3, "text-anchor": "middle", class: `loss w${who}` }, LETTERS[who]);
    return [
      svg("text", { x: 0, y: 12, class: "name bold" }, "loss of each worker's batches"),
      ...axisBelow(x, { y: low, left, right, label: "updates", most: 4 }),
      ...axisLeft(y, { x: left, top: 24, bottom: low, right, words: (value) => `${+value.toPrecision(2)}` }),
      ...Object.entries(answer.losses).flatMap(([who, own]) => own.filter(([, loss]) => loss > 0).filter((_, at) => at % Math.ceil(own.length / 40) === 0).map((one) => mark(who, one))),
    ];
  };
  const late = (wide, { staleness }) => {
    const [left, right, shown] = [34, wide - 6, staleness.slice(0, 9)];
    const [x, y] = [linear(-0.5, Math.max(2.5, shown.length - 0.5), left, right), linear(0, 100, low, 24)];
    const width = Math.max(4, x(1) - x(0) - 6);
    return [
      svg("text", { x: 0, y: 12, class: "name bold" }, "how late: % of the gradients"),
      ...axisLeft(y, { x: left, top: 24, bottom: low, right, most: 4 }),
      svg("path", { d: `M${left},${low}H${right}`, class: "rule" }),
      ...shown.flatMap((share, updates) => [svg("rect", { x: x(updates) - width / 2, width, y: y(100 * share), height: low - y(100 * share), class: "late" }), svg("text", { x: x(updates), y: low + 17, "text-anchor": "middle", class: "tick" }, updates)]),
      svg("text", { x: (left + right) / 2, y: low + 34, "text-anchor": "middle", class: "tick" }, "updates late"),
    ];
  };
  const paint = (answer) => {
    panels.forEach((panel) => panel.paint(answer));
    const last = Object.entries(answer.losses).map(([who, own]) => `worker ${LETTERS[who]} ${own.at(-1)?.[1] ?? "none"}`);
    panels[1].image.setAttribute("aria-label", `Losses fall or grow; last: ${last.join(", ")}.`);
    panels[2].image.setAttribute("aria-label", `Gradients by how late they were: ${answer.staleness.map((share, updates) => `${Math.round(100 * share)} % ${updates} updates`).join(", ")}.`);
    return { alt: `${answer.small}. ${answer.sentence}` };
  };
  const state = exhibit(root, data, paint);
  state.picture.classList.add("panels");
  const panels = [fit, losses, late].map((nodes) => {
    const place = document.createElement("div");
    state.picture.append(place);
    return chart(place, { high: 236, least: 200 }, nodes);
  });
  state.slider("workers", { label: "workers", stops: [1, 2, 3] });
  state.choice("mode", { label: "rule", options: [["async", "asynchronous: nobody waits"], ["sync", "synchronous: everybody waits"]] });
  state.slider("learning_rate", { label: "learning rate", stops: data.rates, settled: true });
  state.slider("steps", { label: "updates", stops: data.updates, settled: true, words: (count) => count.toLocaleString("en") });
  state.choice("slow", { label: "workers' speed", options: [[false, "all alike"], [true, "the last one is slow"]] });
  state.start();
}
