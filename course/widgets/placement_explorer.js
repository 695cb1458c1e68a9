// A program of six ops, a row each, and a column for each device: chips are dragged from column to column, or moved by the
// arrow keys. Below stands who is busy when. All is reckoned here, by placed.js.

const [HEAD, ROW, CHIP] = [46, 50, 30]; // pixels: above the first row, of a row, of a chip
const [LANE, LANES] = [26, 3];
const LOOKS = { launch: "cpu", host: "cpu", wait: "dots", work: "gpu", copy: "bytes" };
const UNITS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]];

const unitOf = (seconds) => UNITS.find(([, one]) => seconds >= one) ?? UNITS[2];
const inWords = (seconds) => `${+(seconds / unitOf(seconds)[1]).toPrecision(3)} ${unitOf(seconds)[0]}`;
const inBytes = (count) => `${short(count)}${count < 1000 ? " " : ""}B`;
const roleOf = (device) => (device.includes("cpu") ? "cpu" : "gpu");
const named = (device) => `${roleOf(device) === "cpu" ? "■" : "▲"} ${device}`;
const total = (moves) => moves.reduce((sum, move) => sum + move[4], 0);
const differing = (one, other) => one.map((_, place) => place).filter((place) => one[place] !== other[place]);

export function draw(root, data) {
  const { steps, devices } = data;
  const ops = steps.slice(0, -1);
  const figures = ({ width, model }) => ({ steps, devices, ...data.figures[model][width] });
  const known = new Map();
  const bestOf = (settings) => {
    const key = `${settings.width} ${settings.model}`;
    if (!known.has(key)) known.set(key, best(figures(settings)));
    return known.get(key);
  };
  const past = []; // placements to go back to
  let [shown, basis, of] = [null, null, ""]; // the placement that is shown, the one that it is compared with, for which size
  let drag = null; // { place, x, from }: the chip in the reader's hand

  const answer = (settings) => {
    const [run, least] = [placed(figures(settings), settings.placement), bestOf(settings)];
    if (of !== `${settings.width} ${settings.model}`) [of, basis] = [`${settings.width} ${settings.model}`, null];
    else if (differing(shown, settings.placement).length) basis = drag ? drag.from : shown;
    shown = settings.placement;
    const score = Math.floor(100 * (least.seconds / run.seconds) * (1 + 1e-12));
    const told = settings.reveal && score < 100 ? ` The best takes ${inWords(least.seconds)}: ${where(least.placement)}.` : "";
    return {
      figure: `${inWords(run.seconds)}, score ${score} of 100`,
      small: `modelled; ${score < 100 ? `the best placement takes ${score} % of this time` : "no placement takes less"}`,
      sentence: (basis ? effect(basis, settings, run) : "Drag an op to another device, or choose it with Tab and move it with ← and →.") + told,
      alt: `The program, an op a row, a device a column: ${where(settings.placement)}. ${movesInWords(run)} ${inWords(run.seconds)}, modelled.${told}`,
      run,
      least,
      score,
    };
  };
  const where = (placement) => devices.filter((device) => placement.includes(device)).map((device) => `${ops.filter((_, place) => placement[place] === device).map(([makes]) => makes).join(", ")} on ${device}`).join("; ");
  const movesInWords = ({ moves }) => (moves.length ? `${moves.length} copies, ${inBytes(total(moves))}: ${moves.map(([value, , , target]) => `${value} to ${target}`).join(", ")}.` : "Nothing moves.");

  // What the last change did: to the op's own time, to the copies, to all.
  const effect = (from, settings, run) => {
    const [before, changed] = [placed(figures(settings), from), differing(from, settings.placement)];
    if (!changed.length) return "As it was.";
    const [makes, code] = ops[changed[0]];
    const spent = (device) => figures(settings).work[makes][+(device !== devices[0])];
    const [old, now] = [from[changed[0]], settings.placement[changed[0]]];
    const own = changed.length > 1 ? `${changed.length} ops moved` : `${code} on ${now} ${spent(old) === spent(now) ? "computes as long as before" : `computes ${inWords(spent(now))} instead of ${inWords(spent(old))}`}`;
    const [more, bytes] = [run.moves.length - before.moves.length, total(run.moves) - total(before.moves)];
    const count = more === 0 ? (bytes === 0 ? "as many copies" : "as many copies,") : `${Math.abs(more)} ${Math.abs(more) === 1 ? "copy" : "copies"} ${more > 0 ? "more" : "fewer"}${bytes ? "," : ""}`;
    const copies = bytes ? `${count} ${inBytes(Math.abs(bytes))} ${bytes > 0 ? "more" : "less"}` : count;
    const ratio = run.seconds / before.seconds;
    const all = Math.abs(ratio - 1) < 1e-9 ? "no difference" : `${inWords(Math.abs(run.seconds - before.seconds))} ${ratio > 1 ? "slower" : "quicker"}`;
    return `${own}; ${copies}; in all ${all}.`;
  };

  const state = exhibit(root, data, (found, settings) => {
    root.dataset.result = JSON.stringify({ seconds: found.run.seconds, moves: found.run.moves, best: found.least.placement, score: found.score });
    peek.textContent = settings.reveal ? "Hide the best" : "Show the best";
    peek.setAttribute("aria-pressed", settings.reveal);
    undoable();
    source.textContent = `Seconds are ${data.labels[settings.model]}.`;
    picture.paint(found, settings);
  }, { local: answer });
  const high = (wide, { score }, { reveal }) => HEAD + steps.length * ROW + (reveal && score < 100 ? 2 : 1) * (LANES * LANE + 30) + 44;
  const picture = chart(state.picture, { high }, (wide, found, settings) => {
    const board = boardOf(wide, data, settings.placement);
    chips.forEach((chip, place) => chip.put(board, settings.placement[place], drag?.place === place ? drag.x : null));
    const hidden = !settings.reveal || found.score === 100;
    const ghosts = hidden ? [] : ops.map((_, place) => (found.least.placement[place] === settings.placement[place] ? [] : ghost(board, place, found.least.placement[place])));
    const runs = [["yours", found.run], ...(hidden ? [] : [["☆ best", found.least]])];
    return [...columns(board, devices), ...arrows(board, data, settings.placement, found.run.moves), ...ghosts, ...timeline(wide, HEAD + steps.length * ROW, runs, devices, picture.fill)];
  });
  picture.image.setAttribute("role", "group"); // of sliders: the chips
  picture.image.style.touchAction = "pan-y"; // a finger that goes across drags a chip
  const undoable = () => state.unable(undo, past.length ? "" : "no chip was moved.");
  const put = (placement, again = false) => {
    if (!differing(placement, state.settings.placement).length) return;
    if (!again) past.push(state.settings.placement);
    state.set({ placement });
  };
  const shift = (place, by) => {
    const next = devices[devices.indexOf(state.settings.placement[place]) + by];
    if (next) put(state.settings.placement.with(place, next));
  };
  const chips = ops.map(([makes, code], place) => chipOf(`${makes} = ${code}`, code, place));
  picture.handles.append(...chips.map((chip) => chip.node));
  chips.forEach(({ node }, place) => {
    node.onkeydown = (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -devices.indexOf(state.settings.placement[place]), End: devices.length - 1 - devices.indexOf(state.settings.placement[place]) }[event.key];
      const to = { ArrowUp: chips[place - 1], ArrowDown: chips[place + 1] }[event.key];
      if (by === undefined && !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      if (by) shift(place, by);
      to?.node.focus();
    };
    const across = (event) => {
      const box = picture.image.getBoundingClientRect();
      return ((event.clientX - box.left) * picture.image.viewBox.baseVal.width) / box.width;
    };
    node.onpointerdown = (event) => {
      if (event.button > 0) return;
      node.setPointerCapture(event.pointerId);
      drag = { place, x: across(event), from: state.settings.placement };
      node.classList.add("held");
      picture.repaint();
    };
    node.onpointermove = (event) => {
      if (drag?.place !== place) return;
      drag.x = across(event);
      const column = Math.floor((drag.x / picture.image.viewBox.baseVal.width) * devices.length);
      const to = devices[Math.max(0, Math.min(devices.length - 1, column))];
      if (to !== state.settings.placement[place]) put(state.settings.placement.with(place, to), past.at(-1) === drag.from);
      else picture.repaint();
    };
    node.onpointerup = node.onpointercancel = () => {
      if (drag?.place !== place) return;
      if (past.at(-1) === drag.from && !differing(drag.from, state.settings.placement).length) past.pop();
      drag = null;
      node.classList.remove("held");
      undoable();
      picture.repaint();
    };
  });
  state.slider("width", { label: "size n", stops: data.widths });
  state.choice("model", { label: "GPU model", options: Object.keys(data.figures).map((name) => [name, name]) });
  const undo = state.button("Undo", () => state.set({ placement: past.pop() }));
  state.button("Reset", () => put(data.settings.placement));
  state.button(`All on ${devices[1]}`, () => put(ops.map(() => devices[1])));
  const peek = state.button("Show the best", () => state.set({ reveal: !state.settings.reveal }));
  const source = document.createElement("p");
  source.className = "note source";
  root.append(source);
  root.querySelector(".picture").before(root.querySelector(".sentence")); // beside what it is about: the chips
  state.start();
}

// Where things are on a board `wide` pixels wide: columns, rows, chips.
function boardOf(wide, { devices }) {
  const column = wide / devices.length;
  const chip = Math.min(156, column - 22);
  const x = (device) => column * (devices.indexOf(device) + 0.5);
  const y = (row) => HEAD + ROW * (row + 0.5);
  return { wide, column, chip, x, y, left: (device) => x(device) - chip / 2, right: (device) => x(device) + chip / 2 };
}

function columns({ wide, column, y }, devices) {
  const bottom = y(6) + ROW / 2 - 4;
  return devices.flatMap((device, place) => {
    const box = svg("rect", { x: column * place + 3, y: 2, width: column - 6, height: bottom, rx: 6, class: `column ${roleOf(device)}` });
    const name = svg("text", { x: column * (place + 0.5), y: 20, "text-anchor": "middle", class: "name bold" }, named(device));
    const kind = svg("text", { x: column * (place + 0.5), y: 36, "text-anchor": "middle", class: "tick" }, roleOf(device) === "gpu" ? "simulated" : wide < 500 ? "inputs" : "the inputs lie here");
    return [box, name, kind];
  });
}

// An op that is moved: { node, put(board, device, x) }; x is where it is held.
function chipOf(words, code, place) {
  const box = svg("rect", { rx: 6, height: CHIP, y: -CHIP / 2 });
  const text = svg("text", { y: 4.5, "text-anchor": "middle", class: "name" }, words);
  const node = svg("g", { class: "chip", tabindex: 0, role: "slider", "aria-label": words, "aria-valuemin": 0, "aria-valuemax": 2 }, [box, text]);
  const put = (board, device, held) => {
    const x = held === null ? board.x(device) : Math.max(board.chip / 2, Math.min(board.wide - board.chip / 2, held));
    for (const [name, value] of Object.entries({ x: -board.chip / 2, width: board.chip })) box.setAttribute(name, value);
    text.textContent = 7 * words.length > board.chip ? code : words;
    node.style.transform = `translate(${x}px, ${board.y(place)}px)`;
    node.classList.toggle("gpu", roleOf(device) === "gpu");
    node.setAttribute("aria-valuenow", Math.round(board.x(device) / board.column - 0.5));
    node.setAttribute("aria-valuetext", `on ${device}`);
  };
  return { node, put };
}

function ghost({ chip, x, y }, place, device) {
  const box = svg("rect", { x: x(device) - chip / 2, y: y(place) - CHIP / 2, width: chip, height: CHIP, rx: 6, class: "ghost" });
  return [box, svg("text", { x: x(device) + chip / 2 - 12, y: y(place) + 5, "text-anchor": "middle", class: "name" }, "☆")];
}

// What flows from op to op: thin where it stays on a device, as wide as its bytes where it moves.
function arrows(board, { steps, devices }, placement, moves) {
  const made = Object.fromEntries(steps.map(([makes], place) => [makes, place]));
  const of = (place) => placement[place] ?? devices[0];
  const nbytes = (value, makes) => moves.find((move) => move[0] === value && move[1] === makes)?.[4] ?? 0;
  const wide = (bytes) => 1.5 + Math.log2(1 + bytes) / 4;
  const parts = [];
  const line = (d, bytes, tip, down) => {
    parts.push(svg("path", { d, class: bytes ? "moves" : "stays", "stroke-width": bytes ? wide(bytes) : 1 }));
    if (bytes) parts.push(svg("path", { d: down ? "M-7,-10H7L0,0Z" : tip[2] > 0 ? "M-10,-7V7L0,0Z" : "M10,-7V7L0,0Z", transform: `translate(${tip[0]},${tip[1]})`, class: "tip" }));
  };
  const label = (x, y, text, anchor = "middle") => parts.push(svg("text", { x, y, "text-anchor": anchor, class: "tick bytes" }, text));
  steps.forEach(([makes, , reads], row) => {
    const [device, y] = [of(row), board.y(row)];
    const inputs = reads.filter((value) => !(value in made));
    const arrive = inputs.reduce((sum, value) => sum + nbytes(value, makes), 0);
    if (arrive) {
      const from = Math.min(12 + 8 * inputs.join(", ").length, board.right(devices[0]));
      parts.push(svg("text", { x: 12, y: y - 3, class: "name given" }, inputs.join(", ")));
      line(`M${from + 4},${y - 7}H${board.left(device) - 9}`, arrive, [board.left(device) - 1, y - 7, 1]);
      label(12, y + 13, inBytes(arrive), "start");
    }
    for (const value of reads.filter((one) => one in made)) {
      const [source, bytes] = [made[value], nbytes(value, makes)];
      const [side, start] = [Math.sign(board.x(device) - board.x(of(source))), board.y(source)];
      const out = side > 0 ? board.right(of(source)) : board.left(of(source));
      if (source === row - 1 && !side) line(`M${board.x(device)},${start + CHIP / 2}V${y - CHIP / 2}`, 0);
      else if (source === row - 1) {
        line(`M${out},${start + 7}H${board.x(device) - side * 8}q${side * 8},0 ${side * 8},8V${y - CHIP / 2 - 9}`, bytes, [board.x(device), y - CHIP / 2 - 1], true);
        label((out + board.x(device)) / 2, start + 25, inBytes(bytes));
      } else if (!side) line(`M${board.right(device)},${start + 5}h2q6,0 6,6V${y - 12}q0,6 -6,6h-2`, 0);
      else {
        const enter = side > 0 ? board.left(device) : board.right(device);
        const gutter = board.x(device) - (side * board.column) / 2;
        line(`M${out},${start + 7}H${gutter - side * 8}q${side * 8},0 ${side * 8},8V${y - 7}H${enter - side * 8}`, bytes, [enter - side, y - 7, side]);
        label(gutter - side * 8, board.y(source + 1) - 18, inBytes(bytes), side > 0 ? "end" : "start");
      }
    }
  });
  const end = [board.x(devices[0]), board.y(steps.length - 1)];
  parts.push(svg("text", { x: end[0], y: end[1] + 4.5, "text-anchor": "middle", class: "name" }, "loss.item()"));
  return parts;
}

// Who was busy when, a lane each, for every run on one axis.
function timeline(wide, top, runs, devices, fill) {
  const longest = Math.max(...runs.map(([, { seconds }]) => seconds));
  const [unit, one] = unitOf(longest);
  const lane = ["host", ...devices.slice(1)];
  const parts = [];
  let [rows, x] = [null, null];
  for (const [place, [who, run]] of runs.entries()) {
    const begin = top + 28 + place * (LANES * LANE + 30);
    rows = lanes(lane.map((device) => [device === "host" ? "■ host" : named(device)]), { wide, step: LANE, bar: 18, begin });
    x = linear(0, longest / one, rows.left, rows.right);
    const copies = new Map(run.spans.filter(([, what]) => what === "copy").map(([, , start, stop]) => [start, stop - start]));
    const share = (seconds) => `${Math.round((100 * seconds) / run.seconds)} %`;
    const waits = run.spans.reduce((sum, [, what, start, stop]) => sum + (what === "wait" ? stop - start : 0), 0);
    const found = run.moves.length ? `copies ${share([...copies.values()].reduce((sum, value) => sum + value, 0))}, waiting ${share(waits)}` : "nothing moves";
    parts.push(svg("text", { x: 0, y: begin - 8, class: "name bold" }, `${who}: ${inWords(run.seconds)}, ${found}`), ...rows.nodes);
    for (const [where, what, start, stop, name] of run.spans) {
      const bar = svg("rect", { x: x(start / one), width: Math.max(0.7, x(stop / one) - x(start / one)), y: rows.top(lane.indexOf(where)), height: rows.bar, ...fill(LOOKS[what]) });
      bar.append(svg("title", {}, `${where}: ${what} ${what === "wait" ? "" : `${name}, `}${inWords(stop - start)}`));
      parts.push(bar);
    }
  }
  return [...parts, ...axisBelow(x, { y: rows.bottom - 4, left: rows.left, right: rows.right, label: `${unit}, modelled; grey: copies, dots: waiting`, most: wide < 500 ? 4 : 8 })];
}
