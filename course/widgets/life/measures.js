// What is measured of a board that plays: frames and cells a second, the living cells, and how fast each engine is.

const AT_ONCE = 30; // milliseconds that this page computes for a frame at most

const inWords = (value) => value.toLocaleString("en");

// Frames shown, and the cells that an engine decided in how many seconds of its own.
function speedometer() {
  let [since, frames, cells, seconds, by, told] = [0, 0, 0, 0, "", null];
  return {
    count(who, decided, took) {
      const now = performance.now();
      if (who !== by || since === 0) {
        [by, since, frames, cells, seconds] = [who, now, 0, 0, 0];
        return false;
      }
      [frames, cells, seconds] = [frames + 1, cells + decided, seconds + took];
      if (now - since < 600) return false;
      told = { by, frames: (1000 * frames) / (now - since), cells: seconds > 0 ? cells / seconds : 0 };
      [since, frames, cells, seconds] = [now, 0, 0, 0];
      return true;
    },
    stop: () => ([since, told] = [0, null]),
    told: () => told,
  };
}

// Living cells by generation, and from when on they go in a circle.
function populationCurve(place, world) {
  return chart(place, { high: 100 }, (wide) => {
    const [points, found] = [world.points, world.cycle()];
    const [first, last] = [points[0][0], Math.max(points.at(-1)[0], points[0][0] + 10)];
    const [x, y] = [linear(first, last, 44, wide - 12), linear(0, 1.4 * Math.max(...points.map((one) => one[1]), 3), 60, 10)];
    const path = points.map(([generation, living], at) => `${at ? "L" : "M"}${x(generation).toFixed(1)},${y(living).toFixed(1)}`);
    return [
      axisLeft(y, { x: 44, top: 4, bottom: 60, right: wide - 12, most: 2 }),
      axisBelow(x, { y: 60, left: 44, right: wide - 12, most: wide < 500 ? 4 : 8, label: "generation" }),
      svg("path", { d: path.join(""), class: "living" }),
      found && found.start >= first ? svg("path", { d: `M${x(found.start)},4V60`, class: "rule", "stroke-dasharray": "3 3" }) : [],
      svg("text", { x: wide - 12, y: 14, "text-anchor": "end", class: "tick" }, "living cells"),
    ];
  });
}

// Each engine's speed on the board that is there: this page's, then the kernel's, one by one. `by()` says how many
// generations it is asked for at a time.
function engineRace(place, world, { engines, by, post, said }) {
  let rates = [];
  const arrived = ({ engine, rate }) => {
    rates.push([engine, rate]);
    const best = Math.max(...rates.map((one) => one[1]));
    const row = ([name, cells]) => ({ name, words: `${short(cells)} cells a second`, share: cells / best, bold: cells === best });
    bars(place, rates.map((one) => ({ ...row(one), role: "cpu", real: true })));
    const next = engines[rates.length - 1];
    if (next && !post({ measure: next, by: by() })) said("The other engines are the kernel's, and none answers: run the notebook.");
    else said(next ? `${next} is being measured …` : `Measured by ${by() > 1 ? `${by()} generations` : "one generation"} at a time, as it plays.`);
  };
  const start = () => {
    const [trial, into] = [world.cells.slice(), boardOf(world.height, world.width)];
    const cellsIn = (milliseconds) => {
      let generations = 0;
      const began = performance.now();
      for (; performance.now() - began < milliseconds; generations++) advance(trial, into, world);
      return (generations * trial.length) / ((performance.now() - began) / 1000);
    };
    cellsIn(AT_ONCE); // while the browser compiles the loop
    rates = [];
    arrived({ engine: "this page", rate: cellsIn(2 * AT_ONCE) });
  };
  return { start, arrived };
}
