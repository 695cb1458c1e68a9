// A run of a cluster, replayed: processes as lanes, what they did as bars, bytes as packets; and what if a bar were longer.

const TAPE_MARKUP = `
  <div class="figure" role="status"><span class="moment"></span> <small class="finding"></small></div>
  <div class="controls"></div>
  <div class="tape picture"></div>
  <p class="tell" role="status"></p>
  <div class="sliders whatif" hidden></div>
  <div class="bar again" hidden></div>
  <p class="note who"></p>
  <div class="tape graph"></div>
  <p class="note key tapekey"><i class="works"></i> works &nbsp; <i class="waits"></i> waits &nbsp; <b>●</b> bytes on their way &nbsp; <b class="updates">◆</b> a new version &nbsp; <b class="dies">✕</b> a process dies &nbsp; faint: still to come</p>
  <details><summary>The run as a table</summary><div class="rows" tabindex="0" role="group" aria-label="the run as a table"></div></details>
  <p class="note source"></p>`;

export function draw(root, data) {
  root.innerHTML = TAPE_MARKUP;
  const find = (what) => root.querySelector(what);
  const runs = data.runs;
  const end = Math.max(1, ...runs.map((run) => run.end));
  const lengths = runs.map(() => ({}));
  let bars = runs.map((run) => run.bars);
  const begin = Math.min(...runs.map((run) => run.begin));
  let [from, to, chosen, scenes, x, wide] = [begin > end / 10 ? begin - (end - begin) / 50 : 0, end, null, [], null, 0];
  const picture = svg("svg", { role: "application", tabindex: 0, "aria-label": data.alt });
  const graph = svg("svg", { role: "img" });
  find(".tape.picture").append(picture);
  find(".tape.graph").append(graph);
  const own = `tape-${data.key}-${Math.random().toString(36).slice(2, 8)}`;
  const moving = svg("g");
  const until = svg("rect", { x: 0, y: 0, height: 5000 });
  const changed = (run) => Object.keys(lengths[run]).length > 0;
  const stops = () => bars.map((rows, run) => Math.max(changed(run) ? 0 : runs[run].end, ...rows.map((bar) => bar[2] + bar[3])));

  const paint = () => {
    wide = Math.max(280, find(".tape.picture").clientWidth || 700);
    const left = wide < 500 ? 104 : 128;
    x = linear(from, to, left, wide - 8);
    until.setAttribute("x", left - 7);
    const clip = svg("clipPath", { id: `${own}-until` }, [until]);
    const inside = svg("clipPath", { id: `${own}-inside` }, [svg("rect", { x: left - 7, y: 0, width: wide - left + 14, height: 5000 })]);
    const dots = svg("pattern", { id: `${own}-dots`, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, [svg("circle", { cx: 3, cy: 3, r: 1.3, class: "dot" })]);
    let top = 0;
    scenes = runs.map((run, place) => {
      const made = scene(run, bars[place], { x, top, from, to, chosen: chosen?.run === place ? chosen.place : null, changed: changed(place), dots: `${own}-dots`, clip: `${own}-until`, inside: `${own}-inside` });
      made.group = svg("g", { "data-run": place }, made.nodes);
      top += made.high + 10;
      return made;
    });
    const ticks = x.ticks(wide < 500 ? 3 : 6);
    const axis = [svg("path", { d: `M${left},${top}H${wide - 8}`, class: "rule" }), ...ticks.flatMap((tick) => [svg("path", { d: `M${x(tick)},${top}v4`, class: "rule" }), svg("text", { x: x(tick), y: top + 17, "text-anchor": x(tick) > wide - 40 ? "end" : "middle", class: "tick" }, to >= 1e5 ? `${tick / 1e5} s` : `${tick / 100} ms`)])];
    picture.replaceChildren(svg("defs", {}, [clip, inside, dots]), ...scenes.map((made) => made.group), ...axis, moving);
    for (const [name, value] of Object.entries({ width: wide, height: top + 24, viewBox: `0 0 ${wide} ${top + 24}` })) picture.setAttribute(name, value);
    root.dataset.window = [from, to].map(Math.round);
    follow(time.now());
  };

  const follow = (now) => {
    until.setAttribute("width", Math.max(0, x(now) - until.getAttribute("x")));
    const line = svg("path", { d: `M${x(now)},4V${picture.viewBox.baseVal.height - 24}`, class: "now" });
    moving.replaceChildren(line, ...runs.flatMap((run, place) => (changed(place) ? [] : packets(run, now, x, scenes[place].y))));
    find(".figure .moment").textContent = inWords(now);
    const of = chosen?.run ?? 0;
    const rows = new Map(cast(runs[of]).map((one) => [one.lane, one.colour]));
    const letters = new Map(cast(runs[of]).map((one) => [one.lane, one.letter]));
    const look = (place, bar) => ({ letter: letters.get(bar[0]), class: `${rows.get(bar[0])} ${now >= bar[2] + bar[3] ? "ended" : now >= bar[2] ? "working" : "waiting"}${chosen?.run === of && chosen.place === place ? " chosen" : ""}` });
    const drawn = taskGraph(bars[of], runs[of].edges, now, wide, look);
    find(".who").textContent = runs[of].edges.length ? "Who waits for whom: a circle is a bar above, with its process's letter; it fills when the bar has ended." : "No bar waited for what another one gave: the graph has no lines. A circle is a bar above; it fills when the bar has ended.";
    graph.replaceChildren(...drawn.nodes);
    graph.setAttribute("aria-label", `The graph of ${drawn.few ? "the bars around this moment" : "all bars"}: ${runs[of].edges.length} times a bar waited for another one.`);
    for (const [name, value] of Object.entries({ width: wide, height: drawn.high, viewBox: `0 0 ${wide} ${drawn.high}` })) graph.setAttribute(name, value);
  };

  // --- time: a scrubber that steps from event to event, and a window on it ---
  const span = () => to - from;
  const moments = () => [...new Set(runs.flatMap((run, place) => [...bars[place].flatMap((bar) => [bar[2], bar[2] + bar[3]]), ...run.events.map((event) => event[0])]))].filter((tick) => tick >= 0 && tick <= end).sort((one, other) => one - other);
  let known = moments();
  const time = scrubber(find(".controls"), {
    end,
    words: inWords,
    speed: () => span() / 8,
    later: (now) => known.find((tick) => tick > now),
    earlier: (now) => known.findLast((tick) => tick < now),
    moved: (now) => {
      if (now > to || now < from) {
        const long = span();
        from = Math.max(0, Math.min(end - long, now - long / 10));
        to = from + long;
        paint();
      } else follow(now);
      root.dataset.now = Math.round(now);
    },
  });
  const zoom = (times) => {
    const whole = Math.max(end, ...stops());
    const long = Math.max(10, Math.min(whole, span() * times));
    const middle = Math.max(from, Math.min(to, time.now()));
    from = Math.max(0, Math.min(whole - long, middle - long / 2));
    to = from + long;
    paint();
  };
  for (const [words, name, pressed] of [["+", "Zoom in", () => zoom(0.5)], ["−", "Zoom out", () => zoom(2)], ["whole run", "Show the whole run", () => zoom(Infinity)]]) {
    button(time.bar, words, pressed).setAttribute("aria-label", name);
  }

  // --- what if ---
  const again = () => {
    bars = runs.map((run, place) => (changed(place) ? reflow(run.bars, run.edges, lengths[place]) : run.bars));
    known = moments();
    const told = stops();
    find(".again").hidden = !runs.some((_, place) => changed(place));
    const said = runs.flatMap((run, place) => {
      if (!changed(place)) return [];
      const [before, late] = [Math.max(...run.bars.map((bar) => bar[2] + bar[3])), displaced(run.bars, bars[place]).length];
      const later = told[place] - before;
      return [`What if: ${late ? `${late} ${late === 1 ? "bar moves" : "bars move"} with it` : "nothing else waits for it"}; the last bar ends ${later > 0 ? `${inWords(later)} later` : later < 0 ? `${inWords(-later)} earlier` : "when it did"}.`];
    });
    find(".finding").textContent = said.length ? said.join(" ") : data.finding;
    root.dataset.result = JSON.stringify({ ends: told, moved: runs.map((run, place) => displaced(run.bars, bars[place])) });
    if (Math.max(...told) > to && to === end) to = Math.max(end, ...told);
    paint();
  };
  let handle = null;
  const choose = (run, place) => {
    chosen = { run, place };
    const was = runs[run].bars[place][3];
    const most = Math.max(10 * was, end / 2);
    find(".whatif").hidden = false;
    find(".whatif").replaceChildren();
    const stopsOf = [...new Set([0, ...[...Array(41).keys()].map((step) => Math.round((most * step) / 40)), was])].sort((one, other) => one - other);
    handle = slider(find(".whatif"), { name: "takes", label: `what if bar ${place} takes`, stops: stopsOf, value: lengths[run][place] ?? was, words: inWords, changed: (length) => set(run, place, length) });
    undisturbed(find(".whatif"));
    find(".tell").textContent = tellOf(runs[run], bars[run], place);
    paint();
  };
  const set = (run, place, length) => {
    if (length === runs[run].bars[place][3]) delete lengths[run][place];
    else lengths[run][place] = Math.round(length);
    again();
  };
  button(find(".again"), "As it was", () => {
    for (const [place] of runs.entries()) lengths[place] = {};
    if (chosen) handle.set(runs[chosen.run].bars[chosen.place][3]);
    to = Math.min(to, end);
    again();
    picture.focus(); // this button is gone
  });

  // --- pointer and keys ---
  const barAt = (target) => (target.dataset?.place === undefined ? null : { run: +(target.closest("[data-run]")?.dataset.run ?? chosen?.run ?? 0), place: +target.dataset.place });
  const tickAt = (event) => x.invert(((event.clientX - picture.getBoundingClientRect().left) / picture.getBoundingClientRect().width) * wide);
  let drag = null;
  picture.style.touchAction = "pan-y";
  picture.onpointerdown = (event) => {
    const hit = barAt(event.target);
    picture.setPointerCapture(event.pointerId);
    if (hit) choose(hit.run, hit.place);
    drag = hit ? { ...hit, at: tickAt(event), length: bars[hit.run][hit.place][3], far: event.clientX } : {};
    if (!hit) time.set(tickAt(event));
  };
  picture.onpointermove = (event) => {
    if (!drag) {
      const hit = barAt(event.target);
      if (hit) find(".tell").textContent = tellOf(runs[hit.run], bars[hit.run], hit.place);
    } else if (drag.place === undefined) time.set(tickAt(event));
    else if (Math.abs(event.clientX - drag.far) > 3) {
      const length = Math.max(0, drag.length + tickAt(event) - drag.at);
      handle.set(length);
      set(drag.run, drag.place, length);
    }
  };
  picture.onpointerup = picture.onpointercancel = () => (drag = null);
  graph.onclick = (event) => {
    const hit = barAt(event.target);
    if (hit) choose(chosen?.run ?? 0, hit.place);
  };
  picture.onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 0.5 : 2);
    else if (by !== undefined) step(by);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") lane(event.key === "ArrowUp" ? -1 : 1);
    else return;
    event.preventDefault();
  };
  const step = (by) => {
    const run = chosen?.run ?? 0;
    if (!bars[run].length) return;
    const next = Math.max(0, Math.min(bars[run].length - 1, chosen ? chosen.place + by : 0));
    choose(run, next);
    time.set(Math.max(0, Math.min(end, bars[run][next][2])));
  };
  const lane = (by) => {
    const [run, place] = [chosen?.run ?? 0, chosen?.place ?? 0];
    if (!bars[run].length) return;
    const order = cast(runs[run]).map((one) => one.lane);
    for (let at = order.indexOf(bars[run][place][0]) + by; order[at] !== undefined; at += by) {
      const there = bars[run].findIndex((bar) => bar[0] === order[at] && bar[2] + bar[3] >= bars[run][place][2]);
      if (there >= 0) return choose(run, there);
    }
  };

  find(".tell").textContent = "Touch a bar, or go to the picture by Tab and move by arrow keys; drag a bar longer to ask “what if”.";
  find(".source").textContent = data.source;
  find(".rows").replaceChildren(...runs.map((run) => tableOf(run)));
  undisturbed(root);
  again();
  time.set(end); // all of it is there at first; Play begins at the beginning
  new ResizeObserver(paint).observe(find(".tape.picture"));
}
