// Axes, lanes and bars on the scales of scales.js: nodes of SVG from plain numbers, in pixels of the page, so that text
// keeps its size on a phone. What was not measured here is hatched, with a dashed outline.

// The axis below a picture from `left` to `right`, at height `y`, and the one at its left, from `top` to `bottom`, at `x`.
function axisBelow(scale, { y, left, right, label = "", words = short, most }) {
  const marks = scale.ticks(most).map((value) => [svg("path", { d: `M${scale(value)},${y}v4`, class: "rule" }), svg("text", { x: scale(value), y: y + 17, "text-anchor": "middle", class: "tick" }, words(value))]);
  const name = svg("text", { x: (left + right) / 2, y: y + 34, "text-anchor": "middle", class: "tick" }, label);
  return [svg("path", { d: `M${left},${y}H${right}`, class: "rule" }), ...marks.flat(), name];
}

function axisLeft(scale, { x, top, bottom, right, words = short, most }) {
  const marks = scale.ticks(most).map((value) => [svg("path", { d: `M${x},${scale(value)}H${right ?? x}`, class: "grid" }), svg("text", { x: x - 6, y: scale(value) + 4, "text-anchor": "end", class: "tick" }, words(value))]);
  return [svg("path", { d: `M${x},${top}V${bottom}`, class: "rule" }), ...marks.flat()];
}

let charts = 0; // each has patterns of its own: a hidden picture's can't be used
const ROLES = ["cpu", "gpu", "ps", "worker", "bytes", "waiting", "error"];

function patterns(own) {
  const hatch = (role) => {
    const fill = svg("rect", { width: 6, height: 6, style: `fill: var(--${role})`, "fill-opacity": 0.35 });
    const line = svg("path", { d: "M-1,7L7,-1", style: `stroke: var(--${role})`, "stroke-width": 1 });
    return svg("pattern", { id: `${own}-${role}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, [fill, line]);
  };
  const dots = svg("circle", { cx: 3, cy: 3, r: 1.3, style: "fill: var(--waiting)" });
  return svg("defs", {}, [...ROLES.map(hatch), svg("pattern", { id: `${own}-dots`, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, [dots])]);
}

// A picture `high` pixels tall (or high(wide, …)) and as wide as its place: paint(…) draws what nodes(wide, …) gives, now
// and whenever the width changes; `repaint()` draws the same again. `fill(role, real)` gives the attributes of a bar: full,
// or hatched and dashed. What is put into `handles`, a group above all, stays, and with it a focus or a captured pointer.
function chart(place, { high, least = 260 }, nodes) {
  const [image, own] = [svg("svg", { role: "img" }), `chart${(charts += 1)}-${Math.random().toString(36).slice(2, 8)}`];
  const defined = patterns(own);
  const handles = svg("g");
  let [given, before] = [null, 0]; // what was painted last, and how wide its place is: to ask for it costs a layout
  const fill = (role, real = false) => {
    if (role === "dots") return { style: "stroke: var(--waiting)", fill: `url(#${own}-dots)`, "stroke-width": 0.5 };
    return real ? { style: `fill: var(--${role})` } : { fill: `url(#${own}-${role})`, style: `stroke: var(--${role})`, "stroke-dasharray": "4 2.5" };
  };
  const draw = () => {
    if (!given) return;
    before ||= place.clientWidth;
    const wide = Math.max(least, before || 700);
    sized(image, wide, typeof high === "function" ? high(wide, ...given) : high);
    for (const old of [...image.childNodes]) if (old !== handles) old.remove();
    image.prepend(defined, ...nodes(wide, ...given).flat(Infinity));
  };
  image.append(handles);
  place.append(image);
  onWidth(place, (wide) => ((before = wide), draw()));
  return { image, handles, fill, repaint: draw, paint: (...answer) => ((given = answer), draw()) };
}

// Lanes, one below the other: `names` are lists of one or two lines. `top(lane)` is where a lane's bar begins, `nodes`
// the names; bars stand right of `left`.
function lanes(names, { wide, step = 44, bar = 18, begin = 8 }) {
  const left = wide < 500 ? 84 : 116;
  const top = (lane) => begin + lane * step;
  const words = names.flatMap((lines, lane) => lines.map((text, row) => svg("text", { x: 0, y: top(lane) + (lines.length > 1 ? 6 : 13) + 15 * row, class: "name" }, text)));
  return { left, right: wide - 4, bar, top, bottom: begin + names.length * step, nodes: words };
}

// The pointer in a chart, dragged or clicked: moved(x, y) in its pixels.
function dragged(image, moved) {
  let down = false;
  const at = (event) => {
    const box = image.getBoundingClientRect();
    const zoom = image.viewBox.baseVal.width / box.width;
    moved((event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom);
  };
  image.style.touchAction = "pan-y";
  image.onpointerdown = (event) => {
    if (event.button > 0) return;
    down = true;
    image.setPointerCapture(event.pointerId);
    event.preventDefault();
    at(event);
  };
  image.onpointermove = (event) => down && at(event);
  image.onpointerup = image.onpointercancel = () => (down = false);
}

// Rows of name, bar and words in HTML: { name, role, real, share (0 … 1 of the widest), words, bold, more: [role, share] }.
function bars(place, rows) {
  const shown = ([role, share, real]) => `<i class="${role}${real ? "" : " hatched"}" style="width:${(100 * share).toFixed(2)}%"></i>`;
  place.replaceChildren(
    ...rows.map((row) => {
      const line = document.createElement("div");
      line.className = row.bold ? "measure best" : "measure";
      const both = [[row.role, row.share, row.real], ...(row.more ? [[...row.more, row.real]] : [])];
      line.innerHTML = `<span></span><span class="long">${both.map(shown).join("")}</span><span></span>`;
      [line.firstChild.textContent, line.lastChild.textContent] = [row.name, row.words];
      return line;
    }),
  );
}
