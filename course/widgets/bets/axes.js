// Axes of bets: positions from 0 to 1 along one, linear or log, and what is drawn on it with exhibits/scales.js.

const place = (axis, value) =>
  axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);

// The value at a place, as round as a reader means it: whole where both ends are, two digits on a log axis.
function valueAt(axis, part) {
  const exact = axis.log ? axis.low * (axis.high / axis.low) ** part : axis.low + part * (axis.high - axis.low);
  const digits = axis.log ? Number(exact.toPrecision(2)) : Number(exact.toPrecision(3));
  const round = axis.whole ? Math.round(axis.log ? digits : exact) : digits;
  return Math.min(axis.high, Math.max(axis.low, round));
}

// An axis on which all `values` have a place, too.
function stretched(axis, values) {
  const known = values.filter((value) => value !== null);
  return { ...axis, low: Math.min(axis.low, ...known), high: Math.max(axis.high, ...known) };
}

// Round numbers on the axis, about `most` of them.
function ticks(axis, most = 6) {
  const scale = (axis.log ? logarithmic : linear)(axis.low, axis.high, 0, 1);
  return scale.ticks(most, axis.whole ? 1 : 0);
}

// Text at x that stays between `least` and `most`: it leans to the other side near an end.
function label(x, y, text, kind, least, most) {
  const half = 3.9 * text.length;
  const anchor = x - half < least ? "start" : x + half > most ? "end" : "middle";
  return svg("text", { x: anchor === "start" ? Math.min(x, least + 6) : anchor === "end" ? Math.max(x, most - 6) : x, y, "text-anchor": anchor, class: kind }, text);
}

const wideness = (box, most = 640) => Math.min(most, Math.max(240, box.clientWidth || most));

// --- a line over places ---------------------------------------------------------------------------------------------

// Return where things are on a sheet of `wide` pixels: x of a place, y of a value, both ways, and the frame's parts.
function paper(axis, wide) {
  const [left, right, top, high] = [52, 14, 24, wide < 420 ? 230 : 270];
  const bottom = high - 40;
  const x = (row) => left + 14 + (row / (axis.rows.length - 1)) * (wide - left - right - 28);
  const y = (value) => bottom - place(axis, value) * (bottom - top);
  const at = (px, py) => [
    Math.round(Math.min(1, Math.max(0, (px - x(0)) / (x(axis.rows.length - 1) - x(0)))) * (axis.rows.length - 1)),
    valueAt(axis, Math.min(1, Math.max(0, (bottom - py) / (bottom - top)))),
  ];
  const frame = [];
  for (const tick of ticks(axis)) {
    frame.push(svg("line", { x1: left, x2: wide - right, y1: y(tick), y2: y(tick), class: "grid" }));
    frame.push(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, short(tick)));
  }
  axis.rows.forEach((row, number) => frame.push(svg("text", { x: x(number), y: bottom + 18, "text-anchor": "middle" }, row)));
  frame.push(label(wide / 2, bottom + 35, axis.across, "", left, wide - right));
  return { x, y, at, high, frame };
}

// The path through those places that have a value.
function path(sheet, values) {
  const points = values.map((value, row) => (value === null ? null : `${sheet.x(row)},${sheet.y(value)}`)).filter(Boolean);
  return points.length > 1 ? `M${points.join("L")}` : "";
}
