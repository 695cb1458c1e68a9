// The chapters as stations on a line: which guesses were made and which exercises passed, by what the browser keeps; what
// comes next; and how long each chapter takes on a machine, by the formula of course/chapter_times.py.

// Return [seconds, why they are many, or ""] for each station on a machine: { cores, memory, slower, starts }.
export function outlook({ stations, seen, limit }, { cores, memory, slower, starts }) {
  return stations.map(({ chapter }) => {
    const crowd = Math.min(chapter.busy, seen) / Math.min(chapter.busy, cores);
    const seconds = chapter.starting * starts * Math.max(1, crowd) + chapter.products * slower * crowd + chapter.fixed;
    if (memory < chapter.memory) return [seconds, `it needs ${chapter.memory} GiB`];
    if (seconds <= limit) return [seconds, ""];
    return [seconds, `${chapter.waits_for}${crowd > 1 ? ` on ${cores} core` : ", on slow cores"}`];
  });
}

function isDone(name) {
  try {
    return localStorage.getItem(`course.done.${name}`) !== null;
  } catch {
    return globalThis.courseDone?.has(name) ?? false; // a page that may keep nothing
  }
}

function forgetAll() {
  memory.guesses.clear();
  globalThis.courseDone?.clear();
  try {
    for (const key of Object.keys(localStorage)) if (/^course\.(bet|done)\./.test(key)) localStorage.removeItem(key);
  } catch {
    // nothing was kept
  }
  tell();
}

// Where a reader stands: [guesses made, exercises passed] of each station as lists of true and false; the next station.
export function standing(stations, guessed, passed) {
  const done = stations.map(({ name, bets, exercises }) => [bets, exercises].map((names, kind) => names.map((one) => (kind ? passed : guessed)(`${name.slice(0, 2)} ${one}`))));
  const last = done.findLastIndex((both) => both.flat().some(Boolean));
  const next = last < 0 ? 0 : done[last][0].every(Boolean) ? last + 1 : last;
  return { done, next, begun: last >= 0 };
}

const MARKS = [["○", "●"], ["☐", "☑"]]; // a guess, an exercise: to do, done
const KINDS = [["guess made", "guesses made"], ["exercise solved", "exercises solved"]];

export function draw(root, data) {
  const links = new Map([...root.closest(".exhibit").querySelectorAll(".still a[data-chapter]")].map((link) => [link.dataset.chapter, link]));
  const answer = (settings) => {
    const found = outlook(data, settings);
    const slow = found.flatMap(([, why], place) => (why ? [`${data.stations[place].name.slice(0, 2)} (${why})`] : []));
    return { found, slow };
  };
  const paint = ({ found, slow }) => {
    const where = standing(data.stations, (name) => read(name) !== null, isDone);
    root.dataset.result = JSON.stringify({ found, ...where });
    const longest = Math.max(data.limit * 1.25, ...found.map(([seconds]) => seconds));
    rows.forEach((row, place) => row.show(where.done[place], place === where.next, where.begun, found[place], longest));
    judge(slow);
    const next = data.stations[where.next];
    const counts = [0, 1].map((kind) => where.done.flatMap((both) => both[kind]));
    const words = counts.map((all, kind) => `${all.filter(Boolean).length} of ${all.length} ${KINDS[kind][1]}`).join(", ");
    const left = data.stations.filter((_, place) => !where.done[place].flat().every(Boolean)).reduce((sum, { chapter }) => sum + chapter.minutes, 0);
    const figure = !next ? "The end of the line" : `${where.begun ? "Next" : "Begin with"}: ${next.name.slice(0, 2)} ${next.title}`;
    return { figure, small: `${next ? `${next.chapter.minutes} minutes; ` : ""}${words}; ${inHours(left)} of reading ahead` };
  };
  const state = exhibit(root, data, paint, { local: answer });
  const line = document.createElement("ol");
  line.className = "stations";
  const rows = data.stations.map((station) => stationOf(station, links.get(station.name), data.limit));
  line.append(...rows.map((row) => row.node));
  const heading = document.createElement("p");
  heading.className = "note heading";
  heading.textContent = `○ a guess to make, ● made; ☐ an exercise to solve, ☑ solved; minutes to read. Bars: seconds of Run All on the machine below, estimated; dotted: ${data.limit} s.`;
  const forget = document.createElement("div");
  forget.className = "bar";
  let sure = false; // the second press is meant
  const forgetting = button(forget, "", () => {
    if (sure) forgetAll();
    ask(!sure);
  });
  const ask = (asked) => {
    sure = asked;
    forgetting.textContent = sure ? "Press again: all guesses and exercises will be forgotten" : "Forget all that I have done";
  };
  forgetting.onblur = () => ask(false);
  ask(false);
  state.picture.append(heading, line, forget);

  const machine = document.createElement("section");
  machine.className = "machine";
  machine.setAttribute("aria-label", "the machine");
  const title = document.createElement("p");
  title.className = "title";
  const list = document.createElement("ul");
  list.className = "devices";
  list.append(...data.devices.map(([name, description, memory, simulated]) => {
    const one = document.createElement("li");
    one.textContent = `${name.includes("cpu") ? "■" : "▲"} ${name}: ${description}, ${memory} GiB${simulated ? ", simulated" : ""}`;
    return one;
  }));
  const verdict = document.createElement("p");
  verdict.setAttribute("role", "status");
  machine.append(title, list, root.querySelector(".sliders"), verdict, state.buttons, root.querySelector(".reasons"));
  root.querySelector(".picture").after(machine);
  const judge = (slow) => {
    const own = Object.keys(data.settings).every((name) => state.settings[name] === data.settings[name]);
    title.textContent = !own ? "Another machine" : data.devices.length ? "Your machine, when this cell ran" : "A machine like the one that the chapters were run on";
    list.hidden = !own || !data.devices.length;
    state.unable(again, own ? "these are its own figures." : "");
    verdict.textContent = slow.length ? `${slow.length} of ${data.stations.length} chapters are slow on it, estimated: ${slow.join("; ")}.` : `No chapter should pass its ${data.limit} s on it, estimated.`;
  };
  const times = (value) => `${+value.toFixed(2)} × as long`;
  state.slider("cores", { label: "cores", stops: data.stops.cores });
  state.slider("memory", { label: "memory", stops: data.stops.memory, words: (value) => `${+value.toFixed(1)} GiB` });
  state.slider("slower", { label: "a product takes", stops: data.stops.slower, words: times });
  state.slider("starts", { label: "a start takes", stops: data.stops.starts, words: times });
  const again = state.button("As it was", () => state.set(data.settings));
  const refresh = () => state.set({});
  listen(root, refresh);
  addEventListener("course.done", keptBy(root, refresh));
  addEventListener("storage", keptBy(root, (event) => event.key?.startsWith("course.done.") && refresh()));
  state.start();
}

const inHours = (minutes) => (minutes < 60 ? `${minutes} minutes` : `${+(minutes / 60).toFixed(1)} hours`);

// A station: its link is the still's, which JupyterLab has made one of its own; { node, show(…) }.
function stationOf(station, link, limit) {
  const node = document.createElement("li");
  node.innerHTML = `<span class="stop" aria-hidden="true"></span>
    <div class="what"><span class="number"></span> <span class="place"></span> <span class="here"></span> <span class="asks"></span><p></p></div>
    <div class="done"><span role="img"></span><span role="img"></span></div>
    <div class="time"><span class="minutes"></span><span class="long"><i></i><b></b></span><span class="takes"></span></div>`;
  const find = (what) => node.querySelector(what);
  if (/\.html?$/.test(location.pathname)) link.setAttribute("href", `${station.name}.html`); // a page of nbconvert's
  find(".number").textContent = station.name.slice(0, 2);
  find(".place").append(link);
  find("p").textContent = station.question;
  find(".asks").append(...station.asks.map((question) => Object.assign(document.createElement("em"), { textContent: question })));
  find(".minutes").textContent = `${station.chapter.minutes} min`;
  const show = (done, isNext, begun, [seconds, why], longest) => {
    const all = done.flat();
    node.className = `${all.every(Boolean) ? "full" : all.some(Boolean) ? "half" : "empty"}${isNext ? " next" : ""}`;
    if (isNext) node.setAttribute("aria-current", "step");
    else node.removeAttribute("aria-current");
    find(".here").textContent = isNext ? (begun ? "next" : "begin here") : "";
    [...find(".done").children].forEach((mark, kind) => {
      const count = done[kind].filter(Boolean).length;
      mark.textContent = done[kind].map((one) => MARKS[kind][+one]).join("");
      mark.setAttribute("aria-label", `${count} of ${done[kind].length} ${KINDS[kind][1]}`);
      mark.title = station[kind ? "exercises" : "bets"].map((name, place) => `${MARKS[kind][+done[kind][place]]} ${name}`).join("\n");
    });
    find("i").className = why ? "hatched error" : "hatched cpu";
    find("i").style.width = `${(100 * seconds) / longest}%`;
    find("b").style.left = `${(100 * limit) / longest}%`;
    find(".takes").textContent = `${Math.round(seconds)} s${why ? " ✕" : ""}`;
  };
  return { node, show };
}
