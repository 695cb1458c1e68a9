// A moment that is dragged, stepped and played: scrubber(box, { end, moved, … }) puts Play, ◀, ▶ and a slider into `box`.
//
// - `end`: the last moment, from 0, in the exhibit's unit; `words(moment)` says one, also to screen readers.
// - `moved(moment, plays)`: called after each move, by hand or by play; `speed()`: units that pass in a second of play.
// - `later(moment)`, `earlier(moment)`: the moment of the next event, and of the one before; without them a hundredth.
//
// Gives { set(moment), reach(end), now(), pause(), playing(), bar, input }; `set` calls `moved` too. Space and Enter press what has the
// focus, arrow keys move the slider, Home and End go to its ends. Where the reader's system asks for less motion, Play
// is not there.

function scrubber(box, { end, moved, words = (moment) => moment.toFixed(2), speed = () => end / 10, later, earlier }) {
  const bar = document.createElement("div");
  bar.className = "bar scrubber";
  box.append(bar);
  let [now, plays, before] = [0, false, 0];
  const play = button(bar, "Play", () => (plays ? pause() : begin()));
  play.classList.add("play");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const row = document.createElement("label");
  row.innerHTML = `<input class="moment" type="range" min="0" max="${end}" step="any" aria-label="moment"><output></output>`;
  const [input, output] = row.children;

  const show = () => {
    input.value = now;
    output.textContent = words(now);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const go = (moment) => {
    now = Math.max(0, Math.min(end, moment));
    show();
    moved(now, plays);
  };
  const set = (moment) => {
    pause();
    go(moment);
  };
  const pause = () => {
    plays = false;
    play.textContent = "Play";
  };
  const begin = () => {
    if (now >= end) now = 0;
    [plays, before, play.textContent] = [true, performance.now(), "Pause"];
    requestAnimationFrame(frame);
  };
  const frame = (time) => {
    if (!plays || !bar.isConnected) return;
    const passed = Math.max(0, Math.min(100, time - before)); // a page that was out of sight goes on where it was
    before = time;
    if (now + (passed / 1000) * speed() >= end) return set(end);
    go(now + (passed / 1000) * speed());
    requestAnimationFrame(frame);
  };
  const step = (by, found) => set(found ? (found(now) ?? (by > 0 ? end : 0)) : now + (by * end) / 100);
  button(bar, "◀", () => step(-1, earlier)).setAttribute("aria-label", "Previous event");
  button(bar, "▶", () => step(1, later)).setAttribute("aria-label", "Next event");
  bar.append(row);
  input.oninput = () => set(+input.value);
  input.onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by, by > 0 ? later : earlier);
  };
  const calm = () => {
    play.hidden = still.matches;
    if (still.matches) pause();
  };
  still.addEventListener("change", keptBy(bar, calm));
  calm();
  show();
  const reach = (last) => {
    pause();
    [end, now, input.max] = [last, Math.min(now, last), last];
    show();
  };
  return { set, reach, now: () => now, pause, playing: () => plays, bar, input };
}
