// A product on this CPU and on a GPU with its copies: two bars, and both against the size, with the place of this one.

export function draw(root, data) {
  const measured = new Map(); // size -> milliseconds, as the kernel has measured them since the page was opened
  const inWords = (ms) => (ms >= 1000 ? `${+(ms / 1000).toPrecision(3)} s` : ms >= 1 ? `${+ms.toPrecision(3)} ms` : `${+(ms * 1000).toPrecision(3)} µs`);
  const gap = { left: 60, right: 20, top: 12, bottom: 214 };
  const across = (wide) => logarithmic(data.sizes[0], data.sizes.at(-1), gap.left, wide - gap.right);
  const nodes = (wide, answer, sheet) => {
    const known = data.grid.filter(([{ gpu }]) => gpu === sheet).map(([, one]) => one);
    const all = known.flatMap((one) => [one.cpu.total, one.gpu.total]).concat([...measured.values()], answer.cpu.total, answer.gpu.total);
    const x = across(wide);
    const y = logarithmic(Math.min(...all) / 1.5, Math.max(...all) * 1.5, gap.bottom, gap.top);
    const below = { y: gap.bottom, left: gap.left, right: wide - gap.right };
    const sizes = data.sizes.filter((_, place) => wide > 500 || place % 2 === 0);
    const rule = [svg("path", { d: `M${gap.left},${gap.bottom}H${below.right}`, class: "rule" }), svg("text", { x: (gap.left + below.right) / 2, y: gap.bottom + 34, "text-anchor": "middle", class: "tick" }, "matrix size n")];
    const marks = sizes.map((size) => svg("text", { x: x(size), y: gap.bottom + 17, "text-anchor": "middle", class: "tick" }, size));
    const line = (device) => svg("path", { d: known.map((one, place) => `${place ? "L" : "M"}${x(one.size)},${y(one[device].total)}`).join(""), class: `line ${device}` });
    const last = known.at(-1);
    const atEnd = svg("text", { x: x(last.size), y: y(last.cpu.total) - 8, "text-anchor": "end", class: "name bold cpu" }, "■ CPU, recorded");
    const atBelow = svg("text", { x: x(last.size), y: Math.min(gap.bottom - 8, y(last.gpu.total) + 62), "text-anchor": "end", class: "name bold gpu" }, "▲ GPU, modelled");
    const dots = [...measured].map(([size, ms]) => svg("rect", { x: x(size) - 4, y: y(ms) - 4, width: 8, height: 8, class: "cpu dot" }));
    const here = svg("path", { d: `M${x(answer.size)},${gap.top}V${gap.bottom}`, class: "here" });
    const both = ["cpu", "gpu"].map((device) => svg("circle", { cx: x(answer.size), cy: y(answer[device].total), r: 7, class: `mark ${device}` }));
    return [...rule, ...marks, ...axisLeft(y, { x: gap.left, top: gap.top, bottom: gap.bottom, right: below.right, words: inWords }), here, line("cpu"), line("gpu"), atEnd, atBelow, ...dots, ...both];
  };
  const paint = (answer, { gpu }) => {
    if (answer.cpu.kind === "measured") measured.set(answer.size, answer.cpu.total);
    const longest = Math.max(answer.cpu.total, answer.gpu.total);
    const [cpu, its] = [answer.cpu, answer.gpu];
    const work = (its.total * (1 - its.copies)) / longest;
    bars(list, [
      { name: `■ CPU, ${cpu.kind}`, role: "cpu", real: cpu.kind === "measured", share: cpu.total / longest, words: cpu.words },
      { name: `▲ GPU, ${its.kind}`, role: "gpu", real: its.kind === "measured", share: work, more: ["bytes", (its.total * its.copies) / longest], words: `${its.words}; grey: copies` },
    ]);
    picture.paint(answer, gpu === "cuda" ? "h200" : gpu);
    return { alt: `${answer.figure}. ${answer.small}. CPU ${cpu.words}, GPU ${its.words}.` };
  };
  const state = exhibit(root, data, paint);
  const list = document.createElement("div");
  list.className = "list";
  state.picture.append(list);
  const picture = chart(state.picture, { high: 252 }, nodes);
  picture.image.classList.add("sizes");
  dragged(picture.image, (at) => {
    const wanted = across(picture.image.viewBox.baseVal.width).invert(at);
    const away = (size) => Math.abs(Math.log(size / wanted));
    const size = data.sizes.reduce((best, one) => (away(one) < away(best) ? one : best));
    if (size !== state.settings.size) state.set({ size });
  });
  state.slider("size", { label: "matrix size n", stops: data.sizes });
  state.choice("gpu", { label: "GPU", options: data.gpus });
  state.start();
}
