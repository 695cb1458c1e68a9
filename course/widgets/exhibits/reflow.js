// What if a bar had taken longer: the twin of course/cluster/tape/reflow.py, in whole ticks of 10 µs.

// Bars are [lane, name, start, length, asked, ended, number], in the order of their beginnings; edges pairs of places.
export function reflow(bars, edges, lengths) {
  const waitsFor = bars.map(() => []);
  for (const [source, target] of edges) if (source < target) waitsFor[target].push(source);
  const [moved, last] = [[], new Map()];
  const stop = ([, , start, length]) => start + length;
  bars.forEach((bar, place) => {
    const needed = last.has(bar[0]) ? [...waitsFor[place], last.get(bar[0])] : waitsFor[place];
    const ready = needed.reduce((latest, one) => Math.max(latest, stop(bars[one])), bar[4]);
    const now = needed.reduce((latest, one) => Math.max(latest, stop(moved[one])), bar[4]);
    const other = [...bar];
    other[2] = bar[2] + now - ready;
    other[3] = Math.max(0, lengths[place] ?? bar[3]);
    moved.push(other);
    const before = last.get(bar[0]);
    if (before === undefined || stop(bar) >= stop(bars[before])) last.set(bar[0], place);
  });
  return moved;
}

// The places of the bars that stand elsewhere in `moved` than in `bars`.
export const displaced = (bars, moved) => bars.flatMap((bar, place) => (bar[2] === moved[place][2] ? [] : [place]));
