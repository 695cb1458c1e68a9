// An exhibit in the page: its settings, the answers to them, its controls. How to use it:
//
//   export function draw(root, data) {
//     const state = exhibit(root, data, (answer, settings) => picture.paint(answer)); // whenever there is another answer
//     const picture = chart(state.picture, { high: 200 }, (wide, answer) => [svg("rect", { … }), …]); // axes.js
//     state.slider("size", { label: "matrix size n", stops: data.sizes, words: (n) => `${n}` }); // controls.js
//     state.choice("model", { label: "GPU model", options: [["H200", "NVIDIA H200"], …] });
//     state.asks("Measure here", "measure"); // a button that calls measure() in Python, if it is in `actions`
//     const back = state.button("As it was", () => state.set(data.settings));
//     state.start();
//   }
//
// `data` is what page.py stores: `settings`, `grid` ([what differs from these settings, answer], …) and the exhibit's own.
// An answer is what Python's `answer(result)` gives. Its `figure` and `small` are the headline, `sentence` stands below
// the picture, after ✓ or ✕ where `right` is true or false, and `alt` names the picture; what the painting function
// returns replaces these. `data.views` names settings that change only what is shown of an answer. `state.set({ name:
// value })` does what a control does: the stored answer at once, then the kernel's. As a fourth argument `{ local }`,
// settings -> answer, computes all in the page, and needs no kernel; `{ derive }`, settings -> answer or null, replaces the
// grid; `{ atWork }` is called with whether the kernel is; `{ own }`, called with a message and its buffers, says
// whether it was one of the exhibit's own; `state.post(message, buffers)` sends such, each of which must be answered. What
// is for other settings than the present ones is dimmed, and says so. `state.unable(back, "nothing was moved yet.")` disables
// a button, and says why beside it (reasons.js); `state.lacks()` is why the kernel can't be asked, "" where it can.

function exhibit(root, data, paint, { local = null, derive = null, atWork = () => {}, own = () => false } = {}) {
  const frame = exhibitFrame(root);
  const settings = structuredClone(data.settings);
  const rows = {}; // name of a setting -> its control
  const asking = []; // buttons that need a kernel
  let of = null; // the settings that the answer in the picture is an answer to

  const depends = Object.keys(settings).filter((name) => !data.views?.includes(name));
  const differing = () => depends.filter((name) => !same(settings[name], of[name]));
  const known = () => {
    if (local ?? derive) return (local ?? derive)(settings);
    const fits = ([differs]) => depends.every((name) => same(name in differs ? differs[name] : data.settings[name], settings[name]));
    return data.grid.find(fits)?.[1] ?? null;
  };
  const tell = () => {
    const others = of === null ? [] : differing();
    const words = others.map((name) => (rows[name] ? `${rows[name].label} ${rows[name].words(of[name])}` : `another ${name}`)).join(", ");
    for (const one of asking) state.unable(one, kernel.lacks());
    for (const [name, row] of Object.entries(rows)) row.set(settings[name]);
    root.classList.toggle("old", others.length > 0);
    root.dataset.live = kernel.live() ? "kernel" : "stored";
    frame.progress(kernel.busy);
    frame.who(local ? "" : whoAnswers(kernel, of !== null, words), kernel.wrong !== "");
    atWork(kernel.busy !== null);
  };
  const take = (answer) => {
    of = structuredClone(settings);
    root.dataset.shown = JSON.stringify(of);
    tell();
    frame.say({ ...answer, ...paint(answer, of) });
  };
  const move = (answer = known()) => (answer ? take(answer) : tell());
  const kernel = kernelOf(settings, data, frame, { changed: tell, took: (answer) => move(local ? undefined : answer), own });

  const state = {
    settings,
    picture: frame.picture,
    buttons: frame.buttons,
    say: frame.say,
    note: frame.note,
    unable: reasons(frame.reasons),
    act: kernel.act,
    post: kernel.post,
    live: kernel.live,
    lacks: kernel.lacks,
    set(changes) {
      Object.assign(settings, changes);
      kernel.wrong = "";
      move();
      kernel.ask();
    },
    tie(name, make, options) {
      const changed = (value) => state.set({ [name]: value });
      rows[name] = make(frame.sliders, { ...options, name, value: settings[name], changed });
      return rows[name];
    },
    slider: (name, options) => state.tie(name, slider, options),
    choice: (name, options) => state.tie(name, choice, options),
    number: (name, options) => state.tie(name, numberBox, options),
    button: (words, pressed) => button(frame.buttons, words, pressed),
    asks(words, action) {
      asking.push(state.button(words, () => kernel.act(action)));
      return asking.at(-1);
    },
    start() {
      button(frame.work, "Stop", () => kernel.act("stop"));
      move();
      kernel.begin(root);
      tell();
      undisturbed(root);
    },
  };
  return state;
}
