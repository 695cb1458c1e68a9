// Two slices of some numbers: a bar is as wide as its slice and as high as its mean, so that its area is the slice's sum.

// Who works when, a simulated second a number: [task, slice, start, stop, killed then] of each span; then all is joined.
function tasks(wide, spans, fill) {
  const rows = lanes([["● task A"], ["● task B"]], { wide, step: 36, bar: 20, begin: 20 });
  const join = Math.max(...spans.map(([, , , stop]) => stop));
  const x = linear(0, Math.max(join, 1), rows.left, rows.right - 46);
  const title = svg("text", { x: 0, y: 12, class: "name bold" }, waiting(spans));
  const bars = spans.flatMap(([task, slice, start, stop, lost]) => {
    const [from, long, y] = [x(start), x(stop) - x(start), rows.top(task)];
    const text = long > 60 ? [svg("text", { x: from + 6, y: y + 15, class: "name on" }, `slice ${"AB"[slice]}${task === slice ? "" : " again"}`)] : [];
    const cross = lost ? [svg("path", { d: `M${x(stop) - 7},${y + 3}l14,14m-14,0l14,-14`, class: "death" })] : [];
    return [svg("rect", { x: from, y, width: long, height: rows.bar, class: `work w${slice}${lost ? " lost" : ""}` }), ...text, ...cross];
  });
  const idle = gaps(spans).map(([task, start, stop]) => svg("rect", { x: x(start), y: rows.top(task) + 3, width: x(stop) - x(start), height: rows.bar - 6, ...fill("dots") }));
  const end = [svg("path", { d: `M${x(join)},18V${rows.bottom - 6}`, class: "join" }), svg("text", { x: x(join) + 5, y: rows.bottom - 24, class: "name" }, "◆ join")];
  return [title, ...rows.nodes, ...idle, ...bars, ...end, ...axisBelow(x, { y: rows.bottom - 6, left: rows.left, right: rows.right - 46, label: "seconds, simulated: one a number", words: String, most: 5 })];
}

// [task, from, to] where a living task has nothing to do until the join.
function gaps(spans) {
  const join = Math.max(...spans.map(([, , , stop]) => stop));
  return [0, 1].flatMap((task) => {
    const own = spans.filter(([who]) => who === task);
    if (own.some(([, , , , lost]) => lost)) return [];
    const ends = [0, ...own.map(([, , , stop]) => stop)];
    const begins = [...own.map(([, , start]) => start), join];
    return ends.map((end, place) => [task, end, begins[place]]).filter(([, from, to]) => to > from);
  });
}

function waiting(spans) {
  const join = Math.max(...spans.map(([, , , stop]) => stop));
  const lost = spans.find(([, , , , dead]) => dead);
  const long = [0, 1].map((task) => gaps(spans).reduce((sum, [who, from, to]) => sum + (who === task ? to - from : 0), 0));
  const who = long[0] > long[1] ? 0 : 1;
  const waits = long[who] ? `${"AB"[who]} waits ${long[who]} s` : "nobody waits";
  return lost ? `Joined after ${join} s: ${"AB"[lost[0]]} was killed, the mean is the same` : `Joined after ${join} s: ${waits}`;
}

export function draw(root, data) {
  const nodes = (wide, answer, { values, cut }) => {
    const [left, right, top, bottom] = [40, wide - 12, wide < 480 ? 62 : 46, wide < 480 ? 252 : 236];
    const x = linear(0, values.length, left, right);
    const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
    const y = linear(least, most === least ? least + 1 : most, bottom, top);
    const parts = [...axisBelow(x, { y: bottom, left, right, label: "position in the data", words: String }), ...axisLeft(y, { x: left, top, bottom, right, most: 5 })];
    [[0, cut], [cut, values.length]].forEach(([from, to], slice) => {
      const mean = answer.means[slice];
      const role = slice ? "w1" : "w0";
      if (mean !== null) {
        const [high, low] = [Math.max(mean, 0), Math.min(mean, 0)];
        parts.push(svg("rect", { x: x(from), y: y(high), width: x(to) - x(from), height: y(low) - y(high), class: `slice ${role}` }));
      }
      for (let place = from; place < to; place++) {
        parts.push(svg("circle", { cx: x(place + 0.5), cy: y(values[place]), r: 4, class: `value ${role}` }));
      }
      const words = mean === null ? `slice ${"AB"[slice]}: empty` : `slice ${"AB"[slice]}: ${to - from} numbers, mean ${+mean.toPrecision(4)}`;
      parts.push(svg("text", { x: slice ? right : left, y: 14 + 16 * (slice && wide < 480), "text-anchor": slice ? "end" : "start", class: "name" }, words));
    });
    const level = (value, role, words, above) => [
      svg("path", { d: `M${left},${y(value)}H${right}`, class: `level ${role}` }),
      svg("text", { x: left + 8, y: y(value) + (above ? -5 : 14), class: `name level-name ${role}` }, `${words} ${+value.toPrecision(4)}`),
    ];
    const above = answer.averaged !== null && answer.averaged > answer.weighted;
    parts.push(...level(answer.weighted, "weighted", "◆ weighted by size", !above));
    if (answer.averaged !== null && Math.abs(answer.averaged - answer.weighted) > 1e-9) parts.push(...level(answer.averaged, "averaged", "✕ means averaged", above));
    const line = svg("path", { d: `M${x(cut)},${top - 8}V${bottom}`, class: "cut" });
    return [...parts, line, svg("path", { d: "M-7,-12H7V-2L0,5L-7,-2Z", transform: `translate(${x(cut)},${top - 10})`, class: "grip" })];
  };
  const state = exhibit(root, data, (answer, settings) => {
    const { cut, values } = settings;
    if (handle.input.max != values.length) handle.refit(stops(values));
    handle.set(cut);
    picture.paint(answer, settings);
    const spans = answer.spans[settings.killed];
    work.paint(spans);
    work.image.setAttribute("aria-label", `Two tasks, simulated. ${waiting(spans)}.`);
    const averaged = answer.averaged === null ? "" : `; averaged ${+answer.averaged.toPrecision(4)}`;
    return { alt: `${answer.small}. ${values.length} numbers cut before number ${cut}: weighted ${+answer.weighted.toPrecision(4)}${averaged}.` };
  });
  const picture = chart(state.picture, { high: (wide) => (wide < 480 ? 290 : 274) }, nodes);
  picture.image.classList.add("slices");
  const below = document.createElement("div");
  state.picture.append(below);
  const work = chart(below, { high: 126 }, (wide, spans) => tasks(wide, spans, work.fill));
  work.image.classList.add("tasks");
  const values = () => state.settings.values;
  dragged(picture.image, (across) => {
    const wide = picture.image.viewBox.baseVal.width;
    const cut = Math.round(linear(0, values().length, 40, wide - 12).invert(across));
    const legal = Math.max(0, Math.min(values().length, cut));
    if (legal !== state.settings.cut) state.set({ cut: legal });
  });
  const stops = (numbers) => [...Array(numbers.length + 1).keys()];
  const handle = state.slider("cut", { label: "cut before number", stops: stops(values()), words: (cut) => `${cut} and ${values().length - cut}` });
  state.choice("killed", { label: "killed half way", options: [["none", "no task"], ["A", "task A"], ["B", "task B"]] });
  state.start();
}
