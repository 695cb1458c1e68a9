// A line that several workers train: the line among its points, each worker's losses, and how late gradients were.

export function draw(root, data) {
  const extent = (values) => [Math.min(...values), Math.max(...values)];
  const fit = (wide, { line }) => {
    const [left, right] = [34, wide - 6];
    const [from, to] = extent(data.x);
    const [least, most] = extent(data.y);
    const [x, y] = [linear(from, to, left + 4, right - 4), linear(least - 0.5, most + 0.5, LOW, HEAD)];
    const through = ([slope, intercept]) => `M${x(from)},${y(slope * from + intercept)}L${x(to)},${y(slope * to + intercept)}`;
    const clip = svg("clipPath", { id: `${data.key}-fit` }, [svg("rect", { x: left, y: 20, width: right - left, height: LOW - 20 })]);
    return [
      clip,
      heading(line ? "trained; dashed: the best" : "no line; dashed: the best"),
      ...axisBelow(x, { y: LOW, left, right, label: "x", most: 4 }),
      ...axisLeft(y, { x: left, top: HEAD, bottom: LOW, right, most: 5 }),
      ...data.x.map((place, at) => svg("circle", { cx: x(place), cy: y(data.y[at]), r: 2, class: "point" })),
      svg("path", { d: through(data.best), class: "best" }),
      ...(line ? [svg("path", { d: through(line), class: "trained", "clip-path": `url(#${data.key}-fit)` })] : []),
    ];
  };
  const paint = (answer) => {
    drawn.forEach((panel) => panel.paint(answer));
    drawn[1].image.setAttribute("aria-label", lossInWords(answer.losses));
    drawn[2].image.setAttribute("aria-label", lateInWords(answer.staleness));
    return { alt: `${answer.small}. ${answer.sentence}` };
  };
  const state = exhibit(root, data, paint);
  const drawn = panels(state, fit, lossPanel, latePanel);
  state.slider("workers", { label: "workers", stops: [1, 2, 3] });
  state.choice("mode", { label: "rule", options: [["async", "asynchronous: nobody waits"], ["sync", "synchronous: everybody waits"]] });
  state.slider("learning_rate", { label: "learning rate", stops: data.rates, settled: true });
  state.slider("steps", { label: "updates", stops: data.updates, settled: true, words: (count) => count.toLocaleString("en") });
  state.choice("slow", { label: "workers' speed", options: [[false, "all alike"], [true, "the last one is slow"]] });
  state.start();
}
