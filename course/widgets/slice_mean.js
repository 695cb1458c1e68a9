// Two slices of some numbers: a bar is as wide as its slice and as high as its mean, so that its area is the slice's sum.

export function draw(root, data) {
  const nodes = (wide, answer, { values, cut }) => {
    const [left, right, top, bottom] = [40, wide - 6, 46, 236];
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
    const averaged = answer.averaged === null ? "" : `; averaged ${+answer.averaged.toPrecision(4)}`;
    return { alt: `${answer.small}. ${values.length} numbers cut before number ${cut}: weighted ${+answer.weighted.toPrecision(4)}${averaged}.` };
  });
  const picture = chart(state.picture, { high: 274 }, nodes);
  picture.image.classList.add("slices");
  const values = () => state.settings.values;
  dragged(picture.image, (across) => {
    const wide = picture.image.viewBox.baseVal.width;
    const cut = Math.round(linear(0, values().length, 40, wide - 6).invert(across));
    const legal = Math.max(0, Math.min(values().length, cut));
    if (legal !== state.settings.cut) state.set({ cut: legal });
  });
  const stops = (numbers) => [...Array(numbers.length + 1).keys()];
  const handle = state.slider("cut", { label: "cut before number", stops: stops(values()), words: (cut) => `${cut} and ${values().length - cut}` });
  state.start();
}
