// An exhibit in the page: a headline, controls in one column, a picture, a sentence, and who answers. How to use it:
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
// grid; `{ told }` is called with whether the kernel is at work; `{ own }`, called with a message and its buffers, says
// whether it was one of the exhibit's own; `state.post(message, buffers)` sends such, each of which must be answered. What
// is for other settings than the present ones is dimmed, and says so. `state.unable(back, "nothing was moved yet.")` disables
// a button, and says why beside it (reasons.js); `state.lacks()` is why the kernel can't be asked, "" where it can.

const FRAME = `
  <div class="figure" role="status"><span class="says"></span> <small></small></div>
  <div class="sliders"></div>
  <div class="bar buttons"></div>
  <p class="note reasons" hidden></p>
  <p class="note said" role="status" hidden></p>
  <div class="bar work" hidden><progress max="1" aria-label="at work"></progress></div>
  <div class="picture"></div>
  <p class="note sentence"></p>
  <p class="note who" role="status"></p>`;

const WHO = {
  alone: "Stored answers: no kernel is connected.",
  asked: "Stored answers, until the kernel answers.",
  live: "The kernel answers.",
  silent: "Stored answers: the kernel does not answer. It is busy, or gone.",
};
const UNHEARD = "The kernel has not heard it yet: it runs a cell, or is gone. It hears it when the cell has ended; Interrupt, in the notebook's menu, ends the cell now.";

const LACKS = {
  alone: "this needs a kernel, and none is connected. Run the notebook.",
  silent: "the kernel does not answer. It is busy, or gone.",
};

const same = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other);

function exhibit(root, data, paint, { local = null, derive = null, told = () => {}, own = () => false } = {}) {
  root.innerHTML = FRAME;
  const find = (what) => root.querySelector(what);
  const settings = structuredClone(data.settings);
  const rows = {}; // name of a setting -> its control
  const asking = []; // buttons that need a kernel
  let [shown, of] = [null, null]; // the answer that is shown, and the settings that it is an answer to
  let agreed = { ...settings }; // the settings that the kernel knows
  let [mode, number, pending, timer, unheard, busy, wrong] = ["alone", 0, false, null, null, null, ""];

  const depends = Object.keys(settings).filter((name) => !data.views?.includes(name));
  const differing = (one, other, names = depends) => names.filter((name) => !same(one[name], other[name]));
  const known = () => {
    if (local ?? derive) return (local ?? derive)(settings);
    const fits = ([differs]) => depends.every((name) => same(name in differs ? differs[name] : data.settings[name], settings[name]));
    return data.grid.find(fits)?.[1] ?? null;
  };
  const inWords = (from) => differing(settings, from).map((name) => (rows[name] ? `${rows[name].label} ${rows[name].words(from[name])}` : `another ${name}`));
  const standing = () => {
    if (local) return "";
    if (wrong) return wrong;
    if (!of) return busy === null ? `${WHO[mode]} There is none to these settings: run the notebook.` : "The kernel is at work; the picture follows.";
    if (!root.classList.contains("old")) return WHO[mode];
    const shownFor = `Shown: ${inWords(of).join(", ")}.`;
    if (busy !== null) return `${shownFor} The kernel is at work on the new setting.`;
    if (mode === "silent") return `${shownFor} The kernel does not answer: it is busy, or gone. If it is gone, run the notebook.`;
    return mode === "live" ? shownFor : `${shownFor} No answer to the new setting is stored: run the notebook for it.`;
  };
  const tell = () => {
    for (const one of asking) state.unable(one, state.lacks());
    root.classList.toggle("old", of !== null && differing(settings, of).length > 0);
    for (const [name, row] of Object.entries(rows)) row.set(settings[name]);
    const held = busy === null && find(".work").contains(document.activeElement); // by Stop, which goes
    find(".work").hidden = busy === null;
    if (held) [...root.querySelectorAll(".sliders :is(input, select), .buttons button")].at(-1)?.focus(); // or Tab would begin anew
    if (busy !== null) find("progress").value = busy;
    find(".who").textContent = standing();
    find(".who").classList.toggle("wrong", wrong !== "");
    find(".who").hidden = find(".who").textContent === "";
    root.dataset.live = mode === "live" ? "kernel" : "stored";
    told(busy !== null);
  };
  const take = (answer, settingsOf) => {
    [shown, of] = [answer, structuredClone(settingsOf)];
    root.dataset.shown = JSON.stringify(of);
    tell();
    say({ ...answer, ...paint(shown, of) });
  };
  const say = ({ figure = "", small = "", sentence = "", right, alt }) => {
    [find(".says").textContent, find(".figure small").textContent, find(".sentence").textContent] = [figure, small, sentence];
    find(".sentence").className = `note sentence${right === undefined ? "" : right ? " ok" : " wrong"}`;
    if (alt) find(".picture svg").setAttribute("aria-label", alt);
  };
  const note = (words) => ([find(".said").textContent, find(".said").hidden] = [words, !words]);
  const move = () => {
    const found = known();
    if (found) take(found, settings);
    else tell();
  };

  const silent = () => {
    [mode, pending, timer, busy] = ["silent", false, null, null]; // a later answer makes it live again
    tell();
  };
  const expect = () => {
    clearTimeout(timer);
    timer = setTimeout(silent, data.patience);
  };
  const ask = () => {
    if (mode !== "live" || pending) return; // one question at a time: its answer brings the next
    [pending, agreed] = [true, { ...settings }];
    number += 1;
    if (send({ number, settings: agreed })) expect();
  };
  const heard = (message, buffers) => {
    if (message.heard) {
      clearTimeout(unheard);
      if (find(".said").textContent === UNHEARD) note("");
    }
    clearTimeout(timer);
    const before = mode;
    mode = "live";
    if (own(message, buffers)) return before === "live" ? undefined : tell();
    if (message.number === number) pending = false;
    if ("said" in message) note(message.said);
    busy = "busy" in message ? message.busy : "settings" in message ? null : busy;
    if (differing(settings, agreed, Object.keys(settings)).length) {
      tell();
      return ask(); // moved meanwhile: the answer that counts is the one to what is set now
    }
    wrong = message.wrong ?? (message.settings ? "" : wrong);
    if (!message.settings || wrong) return tell();
    Object.assign(settings, message.settings);
    agreed = { ...settings };
    if (message.answer && !local) take(message.answer, settings);
    else move();
  };
  let send = () => false;
  const lined = (there) => {
    [mode, pending, busy, wrong] = [there ? "asked" : "alone", false, null, ""];
    clearTimeout(timer);
    clearTimeout(unheard);
    if (there) {
      queueMicrotask(() => send({ ping: 1 })); // `send` is there once `connect` has returned
      expect();
    }
    tell();
  };

  const state = {
    settings,
    picture: find(".picture"),
    buttons: find(".buttons"),
    set(changes) {
      Object.assign(settings, changes);
      wrong = "";
      move();
      ask();
    },
    act(name, ...given) {
      if (mode === "live" && send({ do: name, with: given })) {
        clearTimeout(unheard);
        unheard = setTimeout(() => note(UNHEARD), data.patience);
        return true;
      }
      wrong = "Nothing answers: this needs a kernel. Run the notebook.";
      tell();
      return false;
    },
    say,
    note,
    live: () => mode === "live",
    post(message, buffers) {
      if (mode !== "live") return false;
      const sent = send(message, buffers);
      if (sent) expect();
      return sent;
    },
    tie(name, make, options) {
      const changed = (value) => state.set({ [name]: value });
      rows[name] = make(find(".sliders"), { ...options, name, value: settings[name], changed });
      return rows[name];
    },
    slider: (name, options) => state.tie(name, slider, options),
    choice: (name, options) => state.tie(name, choice, options),
    number: (name, options) => state.tie(name, numberBox, options),
    button: (words, pressed) => button(find(".buttons"), words, pressed),
    asks(words, action) {
      asking.push(state.button(words, () => state.act(action)));
      return asking.at(-1);
    },
    unable: reasons(find(".reasons")),
    lacks: () => LACKS[mode] ?? "",
    start() {
      button(find(".work"), "Stop", () => state.act("stop"));
      move();
      send = connect(root, data.key, heard, lined);
      tell();
      undisturbed(root);
    },
  };
  return state;
}
