// Requests at a simulated server, as dots: they come, wait, are computed in batches, and answered.

// --- the simulation: the twin of course/scale/waiting.py, in whole microseconds -------------------------------------

export function arrivals(rate, seconds, seed) {
  const [next, found] = [uniforms(seed), []];
  for (let now = 0; ; found.push(now)) {
    now += Math.floor((-Math.log(1 - next()) * 1e6) / rate + 0.5);
    if (now >= seconds * 1e6) return found;
  }
}

export function standInLine(comes, { first, more, largest, queue, deadline }) {
  const [arrives, begins, ends, refused, batches] = [[], [], [], [], []];
  let free = 0; // … and begins.length is the place of who is next
  const begin = () => {
    const next = begins.length;
    const [now, size] = [Math.max(free, arrives[next]), Math.min(largest, arrives.length - next)];
    free = now + first + more * size;
    for (let one = 0; one < size; one++) begins.push(now), ends.push(free);
    batches.push(size);
  };
  for (const now of comes) {
    while (begins.length < arrives.length && Math.max(free, arrives[begins.length]) < now) begin();
    (arrives.length - begins.length < queue ? arrives : refused).push(now);
  }
  while (begins.length < arrives.length) begin();
  const stays = Float64Array.from(ends, (end, one) => end - arrives[one]).filter((stay) => deadline === null || stay <= deadline);
  stays.sort();
  const within = (percent) => stays[Math.min(stays.length - 1, Math.floor((stays.length * percent) / 100))] ?? null;
  return { arrives, begins, ends, refused, batches, deadline, answered: stays.length, p50: within(50), p99: within(99) };
}

// How many of a sorted list are at most `value`.
function upTo(list, value) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const waiting = (run, now) => [upTo(run.begins, now), upTo(run.arrives, now)];

function fullest(run) {
  const { arrives, begins } = run;
  let [most, at, from] = [-1, 0, 0];
  for (let to = 1; to <= arrives.length; to++) {
    const now = arrives[to - 1];
    if (arrives[to] === now) continue; // the last of those who come together sees them all
    while (begins[from] <= now) from += 1;
    if (to - from > most) [most, at] = [to - from, now];
  }
  return at;
}

// --- numbers in words -------------------------------------------------------------------------------------------------

const count = (number) => number.toLocaleString("en");
const part = (some, all) => `${((100 * some) / all).toFixed(1)} %`;
const ms = (micro) => `${micro < 1e5 ? (micro / 1e3).toFixed(1) : Math.round(micro / 1e3)} ms`;

function finding(run, came, most, rate) {
  const [late, no] = [run.arrives.length - run.answered, run.refused.length];
  if (late > no && late > came / 100) {
    return `${part(late, came)} are computed for nobody: their callers left while they waited. A shorter queue would have refused them at once.`;
  }
  if (no > came / 100) {
    return `${part(no, came)} find the queue full and are told so at once (429): ${count(rate)} come each second, and full batches do ${count(Math.round(most))}.`;
  }
  return `The worker can do ${count(Math.round(most))} a second, in full batches; ${count(rate)} come, ${part(rate, most)} of that.`;
}

// The number that matters, and the words beside it: as long as nearly all are answered that is how soon, else how many.
function headline(run, came) {
  if (!run.answered) return ["nobody is answered", `simulated; of ${count(came)} requests`];
  const times = `99 of 100 within ${ms(run.p99)}`;
  if (run.answered >= 0.99 * came) return [times, `simulated; half within ${ms(run.p50)}; ${count(run.answered)} of ${count(came)} requests answered`];
  return [`${part(run.answered, came)} are answered`, `simulated; ${count(run.answered)} of ${count(came)} requests; of those ${times}`];
}

// --- the page ---------------------------------------------------------------------------------------------------------

const CONTROLS = [
  ["rate", "arrivals", (value) => `${count(value)} a second`],
  ["largest", "largest batch", (value) => `${value}`],
  ["queue", "queue holds", (value) => `${count(value)}`],
  ["deadline", "callers leave after", (value) => (value === null ? "never" : `${value} ms`)],
];

const HALL = `
  <div class="hall">
    <div class="panel queue"><b>queue</b> <span></span></div>
    <div class="panel worker"><b>■ worker</b> <span></span></div>
    <div class="panel out">
      <div class="answered">◯ answered <span></span></div>
      <div class="refused">✕ refused (429) <span></span></div>
      <div class="late">◌ for nobody <span></span></div>
    </div>
    <svg class="dots" role="img"></svg>
  </div>
  <svg class="strip" role="img" preserveAspectRatio="none" viewBox="0 0 240 40"><path></path><line></line></svg>`;

const SHAPES = {
  dot: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
  cross: "M-4,-4L4,4M-4,4L4,-4",
};
const SPACING = 11; // CSS pixels between dots
const ON_SCREEN = 12; // arrivals in a second of the reader's time: what an eye can follow
const LINGERS = 0.7; // seconds of his that an answered dot stays

// What is to be seen at `now`: [who, kind, panel, place in it], the first in each panel first.
function scene(run, now, lingers) {
  const [next, arrived] = waiting(run, now);
  const [done, gone] = [upTo(run.ends, now), upTo(run.ends, now - lingers)];
  const left = (one) => run.deadline !== null && now - run.arrives[one] > run.deadline;
  const seen = [];
  for (let one = gone; one < done; one++) {
    const inTime = run.deadline === null || run.ends[one] - run.arrives[one] <= run.deadline;
    seen.push([one, inTime ? "answered" : "late", inTime ? "answered" : "late", one - gone]);
  }
  for (let one = done; one < next; one++) seen.push([one, left(one) ? "batch gone" : "batch", "worker", one - done]);
  for (let one = next; one < arrived; one++) seen.push([one, left(one) ? "gone" : "waiting", "queue", one - next]);
  const from = upTo(run.refused, now - lingers);
  for (let one = from; one < upTo(run.refused, now); one++) seen.push([`r${one}`, "refused", "refused", one - from]);
  return seen;
}

export function draw(root, data) {
  const dots = new Map(); // who -> the path that shows him, and where it is
  let [run, now] = [null, 0];
  const last = data.seconds * 1e6;

  const answer = (settings) => {
    const deadline = settings.deadline === null ? null : settings.deadline * 1e3;
    run = standInLine(arrivals(settings.rate, data.seconds, data.seed), { first: data.first, more: data.more, ...settings, deadline });
    const came = run.arrives.length + run.refused.length;
    const most = (1e6 * settings.largest) / (data.first + data.more * settings.largest);
    const [figure, small] = headline(run, came);
    return { figure, small, sentence: finding(run, came, most, settings.rate) };
  };
  const tell = () => {
    if (!moment.playing()) moment.set(fullest(run));
    const { answered, p50, p99, refused, batches } = run;
    const came = run.arrives.length + refused.length;
    root.dataset.result = JSON.stringify({ came, answered, refused: refused.length, late: run.arrives.length - answered, batches: batches.length, p50, p99 });
    speed.textContent = `Simulated: ${data.seconds} seconds, shown ${slowed()} times slower. A batch takes ${ms(data.first)} and ${(data.more / 1e3).toFixed(2)} ms an image: ${data.label}.`;
    paintStrip();
  };
  const state = exhibit(root, data, tell, { local: answer });
  state.picture.innerHTML = HALL;
  const find = (what) => state.picture.querySelector(what);
  const hall = find(".hall");
  const slowed = () => Math.max(1, Math.round(state.settings.rate / ON_SCREEN));
  const lingers = () => (1e6 * LINGERS) / slowed();

  // Where in the hall a panel's dots are: the first of a queue stands next to the worker, the others behind him.
  const places = () => {
    const own = hall.getBoundingClientRect();
    const found = {};
    for (const name of ["queue", "worker", "answered", "refused", "late"]) {
      const box = find(`.hall .${name}`).getBoundingClientRect();
      const line = name in { answered: 1, refused: 1, late: 1 };
      const rows = line ? 1 : Math.max(1, Math.floor((box.height - 40) / SPACING));
      const columns = Math.max(1, Math.floor((box.width - 14) / SPACING));
      const [right, top] = [box.right - own.left - 12, box.top - own.top + (line ? box.height - 9 : 34)];
      found[name] = { room: rows * columns, at: (place) => [right - Math.floor(place / rows) * SPACING, top + (place % rows) * SPACING] };
    }
    return found;
  };

  const paintDots = (moves) => {
    const [seen, where] = [scene(run, now, lingers()), places()];
    const kept = new Set();
    for (const [who, kind, panel, place] of seen) {
      if (place >= where[panel].room) continue; // its number is in words
      kept.add(who);
      const [x, y] = where[panel].at(place);
      let dot = dots.get(who);
      if (!dot) {
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        dot = { path, x: moves ? -6 : x, y: moves ? 40 : y };
        dots.set(who, dot);
        find(".dots").append(path);
      }
      dot.x += moves ? (x - dot.x) * 0.25 : x - dot.x;
      dot.y += moves ? (y - dot.y) * 0.25 : y - dot.y;
      dot.path.setAttribute("class", kind);
      dot.path.setAttribute("d", kind === "refused" ? SHAPES.cross : SHAPES.dot);
      dot.path.setAttribute("transform", `translate(${dot.x.toFixed(1)},${dot.y.toFixed(1)})`);
    }
    for (const [who, { path }] of dots) if (!kept.has(who)) path.remove(), dots.delete(who);
  };

  const paint = (moves = false) => {
    paintDots(moves);
    const [next, arrived] = waiting(run, now);
    const inside = next - upTo(run.ends, now);
    const done = upTo(run.ends, now);
    let late = 0;
    if (run.deadline !== null) for (let one = 0; one < done; one++) late += run.ends[one] - run.arrives[one] > run.deadline;
    const say = (panel, words) => (find(`.hall .${panel} span`).textContent = words);
    say("queue", `${count(arrived - next)} of ${count(state.settings.queue)}`);
    say("worker", inside ? `${inside} of ${state.settings.largest}` : "idle");
    say("answered", count(done - late));
    say("refused", count(upTo(run.refused, now)));
    say("late", count(late));
    find(".dots").setAttribute("aria-label", `Second ${(now / 1e6).toFixed(3)} s: ${arrived - next} requests wait, ${inside} are in the worker.`);
    const x = (240 * now) / last;
    for (const [name, value] of [["x1", x], ["x2", x], ["y1", 0], ["y2", 40]]) find(".strip line").setAttribute(name, value);
  };

  const paintStrip = () => {
    const lengths = [...Array(241).keys()].map((at) => {
      const [from, to] = waiting(run, (at * last) / 240);
      return to - from;
    });
    const most = Math.max(1, ...lengths);
    const line = lengths.map((length, at) => `L${at},${(40 - (38 * length) / most).toFixed(1)}`).join("");
    find(".strip path").setAttribute("d", `M0,40${line}L240,40Z`);
    find(".strip").setAttribute("aria-label", `Requests that wait, over ${data.seconds} simulated seconds: at most ${most}.`);
  };

  const events = () => [run.arrives, run.begins, run.ends, run.refused];
  const moment = scrubber(state.picture, {
    end: last,
    words: (micro) => `second ${(micro / 1e6).toFixed(3)}`,
    speed: () => 1e6 / slowed(),
    later: (from) => Math.min(last, ...events().map((list) => list[upTo(list, from)] ?? last)),
    earlier: (from) => Math.max(0, ...events().map((list) => list[upTo(list, from - 1) - 1] ?? 0)),
    moved: (to, plays) => {
      now = Math.round(to);
      paint(plays);
    },
  });
  const speed = document.createElement("p");
  speed.className = "note speed";
  root.append(speed);
  for (const [name, label, words] of CONTROLS) state.slider(name, { label, stops: data.stops[name], words });
  state.start();
  new ResizeObserver(() => !moment.playing() && paint()).observe(hall);
}
