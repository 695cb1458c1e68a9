// A device's roof, and one op under it by size: the mark is dragged, or its slider moved.

export function draw(root, data) {
  const [least, most] = [0.04, 2500]; // operations a byte
  const gap = { left: 62, top: 22, bottom: 268, right: 8 };
  const scales = (wide, { peak, bandwidth, stops }) => {
    const bound = (intensity) => Math.min(peak, bandwidth * intensity);
    const lowest = Math.min(bound(2 * least), ...stops.filter((stop) => stop.speed).map((stop) => stop.speed));
    const x = logarithmic(least, most, gap.left, wide - gap.right);
    return { bound, x, y: logarithmic(10 ** Math.floor(Math.log10(lowest)), 4 * peak, gap.bottom, gap.top) };
  };
  const role = (device) => (device.includes("cpu") ? "cpu" : "gpu");
  const height = (stop) => stop.speed ?? stop.bound;
  const roof = (wide, { bound, x, y }, { peak, bandwidth, ridge, device, kind }) => {
    const [right, dash] = [wide - gap.right, kind === "measured" ? "none" : "7 4"];
    const path = `M${gap.left},${y(bound(least))}L${x(ridge)},${y(peak)}H${right}`;
    const text = (at, up, anchor, words) => svg("text", { x: at, y: up, "text-anchor": anchor, class: "name" }, words);
    const middle = Math.sqrt(0.3 * ridge);
    const narrow = wide < 480;
    return [
      svg("path", { d: path, class: "roof", style: `stroke: var(--${role(device)})`, "stroke-dasharray": dash }),
      svg("path", { d: `M${x(ridge)},${y(peak)}V${gap.bottom}`, class: "ridge" }),
      text(right - 2, y(peak) - 8, "end", `arithmetic: ${short(peak)}FLOP/s`),
      ...(narrow ? [] : [text(x(ridge), gap.bottom - 8, "middle", `ridge ${+ridge.toPrecision(3)}`)]),
      text(narrow ? gap.left + 6 : x(middle) - 10, narrow ? gap.bottom - 8 : y(bound(middle)) - 8, narrow ? "start" : "end", `memory: ${short(bandwidth)}B/s`),
    ];
  };
  const nodes = (wide, answer, size) => {
    const all = scales(wide, answer);
    const { bound, x, y } = all;
    const [here, colour] = [answer.stops.find((stop) => stop.size === size), `var(--${role(answer.device)})`];
    const known = answer.stops.filter((stop) => stop.speed);
    const marks = answer.stops.map((stop) => svg("circle", { cx: x(stop.intensity), cy: y(height(stop)), r: 3.5, class: "stop", "data-size": stop.size, style: `stroke: ${colour}`, "stroke-opacity": stop.speed ? 1 : 0.4 }));
    const [left, up] = [x(here.intensity), y(height(here))];
    const side = left > wide - 100 ? ["end", Math.min(left + 30, wide - 8), up + 30] : ["start", left + 14, up + 22]; // clear of the line
    return [
      ...axisLeft(y, { x: gap.left, top: gap.top, bottom: gap.bottom, right: wide - gap.right }),
      svg("text", { x: gap.left + 6, y: gap.top - 8, class: "tick" }, "FLOP/s"),
      ...axisBelow(x, { y: gap.bottom, left: gap.left, right: wide - gap.right, label: "operations a byte", words: String }),
      ...roof(wide, all, answer),
      svg("polyline", { points: known.map((stop) => `${x(stop.intensity)},${y(stop.speed)}`).join(" "), class: "track", style: `stroke: ${colour}` }),
      ...marks,
      svg("path", { d: `M${left},${y(bound(here.intensity))}V${up}`, class: "missing" }),
      svg("circle", { cx: left, cy: up, r: 9, class: "handle", style: `stroke: ${colour}; fill: ${colour}`, "stroke-dasharray": answer.kind === "measured" ? "none" : "4 2" }),
      svg("text", { x: side[1], y: side[2], "text-anchor": side[0], class: "name bold" }, `n = ${size}`),
      svg("text", { x: side[1], y: side[2] + 16, "text-anchor": side[0], class: "name" }, here.speed ? `${short(here.speed)}FLOP/s` : "speed not known"),
    ];
  };
  const paint = (answer, { op, size, dtype }) => {
    const here = answer.stops.find((stop) => stop.size === size);
    picture.paint(answer, size);
    for (const option of dtypes.input.options) option.hidden = option.disabled = !data.dtypes[state.settings.source].includes(option.value);
    source.textContent = answer.label;
    return { figure: here.name, small: `${op}, n = ${size}, ${dtype}: ${here.reached}`, sentence: here.sentence, alt: `${op} at n = ${size}: ${here.name}, ${here.reached}. ${here.sentence}` };
  };
  // a stored track has all sizes; a measured one is known only to the kernel
  const derive = (settings) => {
    if (!data.dtypes[settings.source].includes(settings.dtype)) settings.dtype = "float32"; // as Python does
    return data.grid.find(([differs]) => Object.entries(differs).every(([name, value]) => settings[name] === value))?.[1] ?? null;
  };
  const state = exhibit(root, data, paint, { derive });
  const picture = chart(state.picture, { high: 306 }, nodes);
  picture.image.classList.add("roofline");
  const source = document.createElement("p");
  source.className = "note source";
  state.picture.append(source);
  dragged(picture.image, (across, up) => {
    const marks = [...picture.image.querySelectorAll(".stop")];
    const away = (mark) => Math.hypot(mark.getAttribute("cx") - across, mark.getAttribute("cy") - up);
    const nearest = +marks.reduce((best, mark) => (away(mark) < away(best) ? mark : best)).dataset.size;
    if (nearest !== state.settings.size) state.set({ size: nearest });
  });
  state.slider("size", { label: "matrix size n", stops: data.sizes });
  state.choice("op", { label: "op", options: data.ops.map((name) => [name, name]) });
  const dtypes = state.choice("dtype", { label: "numbers", options: data.dtypes.h200.map((name) => [name, name]) });
  state.choice("source", { label: "roof of", options: data.sources });
  state.asks("Measure here", "measure");
  state.start();
}
