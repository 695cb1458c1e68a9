// The graph of a run's bars: who waited for whom, each bar in the colour of its process, filled when it has ended.

const GRAPH_MOST = 40;

// The places of the bars around a moment: all of a small run, else those that ended last and begin next.
function around(bars, now) {
  if (bars.length <= GRAPH_MOST) return bars.map((_, place) => place);
  const next = bars.findIndex((bar) => bar[2] + bar[3] > now);
  const first = Math.max(0, Math.min((next < 0 ? bars.length : next) - 12, bars.length - GRAPH_MOST));
  return [...Array(GRAPH_MOST).keys()].map((place) => first + place);
}

// Place -> column: a bar stands right of all that it waited for.
function columns(places, edges) {
  const shown = new Set(places);
  const column = new Map(places.map((place) => [place, 0]));
  const inside = edges.filter(([source, target]) => source < target && shown.has(source) && shown.has(target));
  for (const [source, target] of inside.sort((one, other) => one[1] - other[1])) {
    column.set(target, Math.max(column.get(target), column.get(source) + 1));
  }
  return [column, inside];
}

// Nodes of SVG in a width of `wide` pixels, and the height that they need; `look(place, …)` gives a node's letter and attributes.
function taskGraph(bars, edges, now, wide, look) {
  const places = around(bars, now);
  const [column, inside] = columns(places, edges);
  const most = Math.max(0, ...column.values());
  const rows = new Map();
  const at = new Map();
  const across = Math.min(64, (wide - 30) / Math.max(1, most));
  const fold = most === 0 ? Math.max(1, Math.floor((wide - 20) / 30)) : Infinity; // nothing waits: in lines, like words
  for (const place of [...places].sort((one, other) => (most ? bars[one][0] - bars[other][0] : 0) || one - other)) {
    const row = rows.get(column.get(place)) ?? 0;
    rows.set(column.get(place), row + 1);
    at.set(place, fold < Infinity ? [14 + 30 * (row % fold), 14 + 24 * Math.floor(row / fold)] : [14 + across * column.get(place), 14 + 24 * row]);
  }
  const line = ([source, target]) => {
    const [[x1, y1], [x2, y2]] = [at.get(source), at.get(target)];
    return svg("path", { d: `M${x1 + 8},${y1}C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2 - 8},${y2}`, class: "edge" });
  };
  const node = (place) => {
    const [cx, cy] = at.get(place);
    const { letter, ...attributes } = look(place, bars[place], now);
    const words = svg("text", { x: cx, y: cy + 3.6, "text-anchor": "middle", class: `letter ${attributes.class}` }, letter);
    return [svg("circle", { cx, cy, r: 8, "data-place": place, ...attributes }), words];
  };
  const high = 28 + Math.max(14, ...[...at.values()].map(([, y]) => y));
  return { high, nodes: [...inside.map(line), ...places.flatMap(node)], few: places.length < bars.length };
}
