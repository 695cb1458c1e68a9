// A training that is hit while it runs: buttons for each process, the picture of failure_timeline.js, a scrubber through
// it, and what happened in order.

const KEY = "Upright lines of the notebook's lane: checkpoints that it saved; dashed: where training went on from one. Dots: waits. ✕: killed. Faint: still to come.";

const NOTHING_TRAINS = "nothing trains now. Press Train again, and then strike.";
const TRAINS = "it trains. Stop ends it.";
const PRESSED = "pressed; the picture is about to show what comes of it.";
const DEAD = "its process is dead, until there is another.";

// A row of buttons for each process; `update(answer, works)` names them by what they would do now.
function strikes(state, root) {
  const box = document.createElement("div");
  box.className = "strikes";
  root.querySelector(".buttons").before(box);
  let rows = [];
  const press = (one, act, task) => state.act("press", act(), task) && state.unable(one, PRESSED);
  const rowOf = (task) => {
    const [row, words] = [document.createElement("div"), document.createElement("span")];
    words.textContent = named(task).lane;
    row.append(words);
    box.append(row);
    const [does, made] = [{}, {}];
    for (const what of named(task).kind === "ps" ? ["kill"] : ["kill", "freeze", "slow"]) made[what] = button(row, "", () => press(made[what], () => does[what], task));
    return { task, row, does, made };
  };
  const update = (answer, works) => {
    const tasks = Object.keys(answer.lives);
    if (tasks.join() !== rows.map((one) => one.task).join()) {
      box.replaceChildren();
      rows = tasks.map(rowOf);
      undisturbed(box);
    }
    for (const { task, does, made } of rows) {
      const [what, own] = [works ? doing(answer, task, answer.until) : "works", named(task).button];
      const [frozen, slow] = [what === "frozen", works && isSlow(answer, task, answer.until)];
      Object.assign(does, { kill: "kill", freeze: frozen ? "thaw" : "freeze", slow: slow ? "quick" : "slow" });
      const words = { kill: `✕ Kill ${own}`, freeze: `${frozen ? "Thaw" : "Freeze"} ${own}`, slow: `${slow ? "Quicken" : "Slow"} ${own}` };
      for (const [one, press] of Object.entries(made)) {
        press.textContent = words[one];
        state.unable(press, state.lacks() || (works ? (what === "dead" ? DEAD : "") : NOTHING_TRAINS));
      }
    }
  };
  return { update };
}

// What happened, in order, with the numbers of the picture; a press goes to that moment.
function story(place, go) {
  const list = document.createElement("ol");
  list.className = "story";
  place.after(list);
  let events = [];
  const update = (answer) => {
    events = answer.events;
    while (list.children.length > events.length) list.lastChild.remove();
    while (list.children.length < events.length) {
      const place = list.children.length;
      const line = document.createElement("li");
      button(line, "", () => go(events[place][0]));
      line.append(document.createElement("span"));
      undisturbed(line);
      list.append(line);
    }
    events.forEach(([at, , , , words, after], place) => {
      const [press, more] = list.children[place].children;
      const texts = [`${clock(at)}: ${words}`, after && ` ${after}`];
      [press, more].forEach((one, part) => one.textContent === texts[part] || (one.textContent = texts[part]));
    });
  };
  const follow = (now) => [...list.children].forEach((line, place) => line.classList.toggle("later", events[place][0] > now));
  return { update, follow };
}

export function draw(root, data) {
  const own = `${data.key}-${Math.random().toString(36).slice(2, 8)}`;
  let [answer, now, works, again] = [null, Infinity, false, null];
  const atWork = (busy) => {
    works = busy;
    if (busy && again) state.unable(again, TRAINS);
    if (answer) hits.update(answer, works);
  };
  const headline = () => ({ figure: standing(answer, now), sentence: answer.versions.length ? numbers(answer, now) : "", alt: now < answer.until ? `${standing(answer, now)}. ${numbers(answer, now)}` : answer.alt });
  const paint = (found) => {
    const atEnd = !answer || now >= answer.until || found.until < now;
    answer = found;
    picture.paint(answer);
    moment.reach(answer.until);
    storyline.update(answer);
    hits.update(answer, works);
    moment.set(atEnd ? answer.until : now);
    root.dataset.result = JSON.stringify({ version: answer.versions.at(-1)?.[1] ?? 0, events: answer.events.length });
    return headline();
  };
  const state = exhibit(root, data, paint, { atWork });
  const hits = strikes(state, root);
  const picture = chart(state.picture, { high: (wide, found) => tall(found) }, (wide, found) => timeline(wide, found, picture.fill, own));
  const line = svg("path", { d: "M0,14V0", class: "now" });
  picture.image.classList.add("faults");
  picture.handles.append(line);
  const key = document.createElement("p");
  [key.className, key.textContent] = ["note", KEY];
  state.picture.append(key);
  const at = () => {
    const wide = picture.image.viewBox.baseVal.width;
    const left = wide < 500 ? 84 : 116;
    return linear(0, answer.until, left, wide - 8);
  };
  const show = (to) => {
    now = to;
    if (!answer) return;
    const x = at()(Math.min(now, answer.until));
    picture.image.querySelector(".until")?.setAttribute("width", x);
    line.setAttribute("d", `M${x},16V${tall(answer) - 46}`);
    storyline.follow(now);
    state.say(headline());
  };
  const moments = () => (answer ? answer.events.map(([second]) => second) : []);
  const end = () => answer?.until ?? 1; // of a scrubber that is moved before the first answer
  const moment = scrubber(state.picture, {
    end: end(),
    words: clock,
    speed: () => Math.max(1, end() / 12),
    later: (from) => moments().find((second) => second > from) ?? end(),
    earlier: (from) => moments().findLast((second) => second < from) ?? 0,
    moved: show,
  });
  const storyline = story(root.querySelector(".sentence"), (second) => moment.set(second));
  state.choice("mode", { label: "rule", options: [["async", "asynchronous: nobody waits"], ["sync", "synchronous: everybody waits"]] });
  state.slider("workers", { label: "workers", stops: [2, 3], settled: true });
  state.slider("seconds", { label: "it trains for", stops: data.lengths, words: (seconds) => `${seconds} s`, settled: true });
  again = state.asks("Train again", "refresh");
  state.start();
  dragged(picture.image, (x) => answer && moment.set(at().invert(x)));
  new ResizeObserver(() => answer && !moment.playing() && show(now)).observe(state.picture);
}
