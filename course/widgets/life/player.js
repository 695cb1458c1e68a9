// The Life player: draws, steps and plays a board. The boards to come are the kernel's where one answers, or this page's.

const FASTEST = 60; // frames a second; what is faster takes several generations a frame
const LATE = 300; // milliseconds for which a board of the kernel's is waited for; then this page computes
const SPEEDS = [0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000];
const SIZES = [[16, 28], [32, 48], [64, 96], [128, 128], [256, 256], [512, 512], [1024, 1024]];
const FAMOUS = ["B3/S23", "B36/S23", "B2/S", "B3678/S34678", "B1357/S1357", "B3/S12345"];
const BAD_RULE = "a rule is B, the counts that give birth, /S, the counts that survive, each digit 0 to 8, as in B3/S23.";

const BELOW = `<div class="desk"></div><p class="note cell"></p><div class="bar view"></div><div class="curve"></div>`;
const MORE = `<summary>Rule, edges, size and engine</summary><div class="sliders"></div><div class="bar"></div>`;

const bytesOfText = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const bytesOfView = (buffer) => new Uint8Array(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);

export function draw(root, data) {
  const find = (what) => root.querySelector(what);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const [own, world, speeds] = [Math.random().toString(36).slice(2, 8), lifeWorld(data.board), speedometer()];
  let [editions, pressed, visible, ticking, due, curved, followed, owes] = [0, false, true, false, 0, 0, "", false];
  const state = exhibit(root, data, (_, settings) => obey(settings), { derive: () => ({}), own: heard, atWork: () => state.live() || feed.lost() });
  const { settings } = state;
  const feed = framesAhead(state, world);
  Object.assign(world, { wrap: settings.wrap, lives: ruleOf(settings.rule).lives });
  world.become(data.board, bytesOfText(data.cells));
  world.afresh();

  state.picture.innerHTML = BELOW;
  const view = lifeView(find(".desk"), world);
  const hand = lifeHand(view, world, { edited: () => edited(""), others: { " ": () => step(), p: () => toggle() }, tell });
  const curve = populationCurve(find(".curve"), world);
  const racing = document.createElement("div");
  const race = engineRace(racing, world, { engines: data.engines, by, post: state.post, said });
  const { play, choose, size } = controls();

  // --- whose board it is ---
  // Python's becomes this page's; where no kernel answers, it will once one does.
  function give(asDrawn) {
    editions += 1;
    world.edition = `${own}-${editions}`;
    feed.clear();
    const { edition, height, width, generation, pattern } = world;
    const given = state.post({ board: { edition, edited: asDrawn, height, width, generation, pattern } }, [pack(world.cells).buffer]);
    [owes, world.ahead] = [!given, false];
  }
  function edited(pattern, paint) {
    world.pattern = pattern;
    world.afresh();
    give(true);
    show(0, true, paint);
  }
  function heard(message, buffers) {
    if (message.frames) {
      if (feed.take(message.frames, buffers.map(bytesOfView))) give(false);
    } else if (message.board) taken(message.board, bytesOfView(buffers[0]));
    else if (message.measured) race.arrived(message.measured);
    else return "taken" in message;
    return true;
  }
  function taken(board, bits) {
    const same = board.edition === world.edition;
    if (owes || (same && world.generation > board.generation)) return give(owes);
    if (same) return;
    const resized = board.height !== world.height || board.width !== world.width;
    Object.assign(world, { edition: board.edition, pattern: board.pattern, ahead: false });
    world.become(board, bits);
    feed.clear();
    world.afresh();
    if (resized) view.whole();
    show();
  }

  // --- playing ---
  function runs() {
    return settings.playing && (pressed || !calm.matches);
  }
  function by() {
    return Math.max(1, Math.round(settings.speed / FASTEST));
  }
  function obey({ rule, wrap, engine_name }) {
    Object.assign(world, { wrap, lives: ruleOf(rule).lives });
    const now = `${rule} ${wrap} ${engine_name}`;
    if (followed && now !== followed) {
      world.afresh(true);
      give(false);
    } else if (!runs() && world.ahead) give(false);
    followed = now;
    speeds.stop();
    view.canvas.classList.toggle("flat", !wrap);
    view.paint();
    curve.paint();
    tick();
    return words();
  }
  function tick() {
    play.textContent = runs() ? "Pause" : "Play";
    find(".figure").setAttribute("aria-live", runs() ? "off" : "polite");
    if (ticking || !runs() || !visible) return;
    ticking = true;
    requestAnimationFrame(frame);
  }
  function frame(time) {
    ticking = false;
    if (!root.isConnected || !runs() || !visible) return;
    tick();
    if (hand.drawing() || time < due - 4) return;
    const moved = kernelsFrame() ?? pagesFrame();
    if (!moved) return;
    due = Math.max(due, time - 20) + 1000 / Math.min(FASTEST, settings.speed);
    show(time, speeds.count(...moved));
  }
  // [engine, cells, seconds] of a frame; false while one of the kernel's is waited for; null where none is to come.
  function kernelsFrame() {
    if (settings.engine_name === "page" || !state.live()) return null;
    feed.ask(settings, by(), settings.speed);
    world.ahead = true; // of this page: its board has to be given back when it pauses
    const ready = feed.next();
    if (!ready) return feed.late(LATE) ? null : false;
    world.become({ ...world, ...ready }, ready.bits);
    return [`${ready.engine}, in the kernel,`, ready.cells, ready.seconds];
  }
  function pagesFrame() {
    const [began, from] = [performance.now(), world.generation];
    while (world.generation < from + by() && performance.now() - began < AT_ONCE) world.generationOn();
    return ["this page", (world.generation - from) * world.cells.length, (performance.now() - began) / 1000];
  }
  function step() {
    if (settings.playing) state.set({ playing: false });
    world.generationOn();
    give(false);
    show();
  }
  function toggle() {
    [pressed, due] = [!runs(), 0];
    if (settings.playing === pressed) tick();
    else state.set({ playing: pressed });
  }

  // --- what is seen ---
  function show(time = 0, whole = true, paint = view.paint) {
    paint();
    const { figure, small, sentence, alt } = words();
    [find(".says").textContent, find(".figure small").textContent] = [figure, small];
    if (whole) find(".sentence").textContent = sentence;
    const { generation, population, height, width } = world;
    root.dataset.board = JSON.stringify({ generation, population, height, width });
    if (time && time - curved < 150) return;
    curved = time;
    curve.paint();
    curve.image.setAttribute("aria-label", alt);
    choose.set(world.pattern);
    size.set(SIZES.find(isSize));
  }
  function words() {
    const [found, speed] = [world.cycle(), speeds.told()];
    const small = `${inWords(world.population)} of ${inWords(world.cells.length)} cells live${found ? ` · ${again(found)}` : ""}`;
    const fast = speed && `${Math.round(speed.frames)} frames a second; ${speed.by} decides ${short(speed.cells)} cells a second, measured without the drawing.`;
    const paused = `Click or drag to draw cells; then Step, or Play.${state.live() ? "" : " This page computes by itself."}`;
    const sentence = runs() ? (fast ?? "") : paused;
    return { figure: `generation ${inWords(world.generation)}`, small, sentence, alt: `Living cells by generation. Now ${small}.` };
  }
  function again({ start, period, exact }) {
    if (!exact) return `the same as ${inWords(period)} generations before`; // not each generation was seen
    return `period ${inWords(period)} from generation ${inWords(start)} on`;
  }
  function tell(text, aloud) {
    find(".cell").setAttribute("aria-live", aloud && !runs() ? "polite" : "off");
    find(".cell").textContent = text;
  }
  function said(text) {
    [find(".said").textContent, find(".said").hidden] = [text, !text];
  }

  // --- controls ---
  function put(name, paint) {
    const { height, width, cells } = data.patterns[name] ?? { height: 0, width: 0, cells: "" };
    const fits = height <= world.height && width <= world.width;
    said(fits ? "" : `${name} is ${height} × ${width} cells, the board ${world.height} × ${world.width}: choose a larger board.`);
    if (!fits) return choose.set(world.pattern);
    world.generation = 0;
    if (name === "random") sprinkle(world.cells, 0.35);
    else world.put({ height, width, cells: unpack(bytesOfText(cells), boardOf(height, width)) });
    edited(name, paint);
  }
  function resize([height, width]) {
    const { height: tall, width: wide, cells, pattern } = world;
    world.sized(height, width);
    world.put({ height: tall, width: wide, cells });
    view.fit();
    if (pattern === "random") put(pattern, view.soon); // a million cells: painted before the next frame, once it is told
    else edited(pattern, view.soon);
  }
  function back() {
    world.become(world.origin, world.origin.bits);
    world.afresh();
    give(false);
    show();
  }
  function isSize([height, width]) {
    return height === world.height && width === world.width;
  }
  function controls() {
    const names = Object.keys(data.patterns).map((name) => [name, name.replaceAll("_", " ")]);
    const options = [["", "— yours —"], ...names, ["random", "random: 35 of 100 live"]];
    const choose = choice(find(".sliders"), { name: "pattern", label: "pattern", options, value: world.pattern, changed: (name) => put(name) });
    state.slider("speed", { label: "speed", stops: [...SPEEDS], words: (value) => `${inWords(value)} generations/s` });
    const play = state.button("Play", toggle);
    play.classList.add("play");
    state.button("Step", step).classList.add("step");
    state.button("Back to start", back);
    state.button("Clear", () => put(""));
    const size = rarer();
    tools(find(".view"));
    new IntersectionObserver(([entry]) => {
      visible = entry.isIntersecting;
      tick();
    }).observe(view.canvas);
    calm.addEventListener("change", keptBy(root, tick));
    state.tie("playing", () => ({ label: "playing", words: String, set: tick }));
    return { play, choose, size };
  }
  function rarer() {
    const more = document.createElement("details");
    [more.className, more.open, more.innerHTML] = ["more", data.controls === "all", MORE];
    state.buttons.after(more);
    const inside = more.querySelector(".sliders");
    const refused = (text) => said(text ? `"${text}" is no rule: ${BAD_RULE} The board still follows ${settings.rule}.` : "");
    const engines = [["auto", "the kernel's fastest here"], ...data.engines.map((name) => [name, `${name}, in the kernel`]), ["page", "this page's own"]];
    inside.append(
      state.tie("rule", textBox, { label: "rule", legal: (text) => ruleOf(text)?.name ?? null, refused, offered: FAMOUS }).row,
      state.choice("wrap", { label: "edges", options: [[true, "meet: a torus"], [false, "dead outside"]] }).row,
      state.choice("engine_name", { label: "engine", options: engines }).row,
    );
    if (!SIZES.some(isSize)) SIZES.unshift([world.height, world.width]);
    const sizes = SIZES.map((one) => [one, one.map(inWords).join(" × ")]);
    button(more.querySelector(".bar"), "Measure each engine on this board", race.start).classList.add("measure-each");
    more.append(racing);
    return choice(inside, { name: "size", label: "board", options: sizes, changed: resize });
  }
  function tools(bar) {
    const switched = (words, name, thing) => {
      const one = button(bar, words, () => {
        thing[name] = !thing[name];
        one.setAttribute("aria-pressed", thing[name]);
        view.paint();
      });
      one.setAttribute("aria-pressed", "false");
    };
    switched("Show who is next", "hints", view.view);
    switched("Move", "moves", hand);
    button(bar, "+", () => view.zoom(1.5)).setAttribute("aria-label", "Zoom in");
    button(bar, "−", () => view.zoom(1 / 1.5)).setAttribute("aria-label", "Zoom out");
    button(bar, "Whole board", view.whole);
  }
  state.start();
  show();
}
