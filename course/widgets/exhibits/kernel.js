// What an exhibit asks its kernel, one question at a time, and what it does with the answers.

const UNHEARD = "The kernel has not heard it yet: it runs a cell, or is gone. It hears it when the cell has ended; Interrupt, in the notebook's menu, ends the cell now.";

const LACKS = {
  alone: "this needs a kernel, and none is connected. Run the notebook.",
  silent: "the kernel does not answer. It is busy, or gone.",
};

const same = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other);

// The kernel behind an exhibit of `data` and `settings`, which its own replace: `mode` is who answers (a key of WHO), `busy`
// how far it is with its work, or null, `wrong` what it refused. Whenever one of these changes, `changed()` is called, and
// `took(answer)` when its settings have come, with an answer to them or undefined. `own(message, buffers)`, which is asked
// first, says whether a message is the exhibit's own. `frame`: see frame.js.
function kernelOf(settings, data, frame, { changed, took, own }) {
  let [number, pending, timer, unheard, send] = [0, false, null, null, () => false];
  let agreed = { ...settings }; // the settings that the kernel knows

  const expect = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      pending = false; // a later answer makes it live again
      Object.assign(kernel, { mode: "silent", busy: null });
      changed();
    }, data.patience);
  };
  const heard = (message, buffers) => {
    const before = kernel.mode;
    clearTimeout(timer);
    kernel.mode = "live";
    if (message.heard) {
      clearTimeout(unheard);
      if (frame.noted() === UNHEARD) frame.note("");
    }
    if (own(message, buffers)) return before === "live" ? undefined : changed();
    if (message.number === number) pending = false;
    if ("said" in message) frame.note(message.said);
    if ("busy" in message || "settings" in message) kernel.busy = message.busy ?? null;
    if (Object.keys(settings).some((name) => !same(settings[name], agreed[name]))) {
      changed();
      return kernel.ask(); // moved meanwhile: the answer that counts is the one to what is set now
    }
    kernel.wrong = message.wrong ?? (message.settings ? "" : kernel.wrong);
    if (!message.settings || kernel.wrong) return changed();
    Object.assign(settings, message.settings);
    agreed = { ...settings };
    took(message.answer);
  };
  const lined = (there) => {
    Object.assign(kernel, { mode: there ? "asked" : "alone", busy: null, wrong: "" });
    pending = false;
    clearTimeout(timer);
    clearTimeout(unheard);
    if (there) {
      queueMicrotask(() => send({ ping: 1 })); // `send` is there once `connect` has returned
      expect();
    }
    changed();
  };

  const kernel = {
    mode: "alone",
    busy: null,
    wrong: "",
    begin: (root) => (send = connect(root, data.key, heard, lined)),
    ask() {
      if (kernel.mode !== "live" || pending) return; // its answer brings the next
      [number, pending, agreed] = [number + 1, true, { ...settings }];
      if (send({ number, settings: agreed })) expect();
    },
    act(name, ...given) {
      if (kernel.mode === "live" && send({ do: name, with: given })) {
        clearTimeout(unheard);
        unheard = setTimeout(() => frame.note(UNHEARD), data.patience);
        return true;
      }
      kernel.wrong = "Nothing answers: this needs a kernel. Run the notebook.";
      changed();
      return false;
    },
    post(message, buffers) {
      const sent = kernel.mode === "live" && send(message, buffers);
      if (sent) expect();
      return sent;
    },
    live: () => kernel.mode === "live",
    lacks: () => LACKS[kernel.mode] ?? "",
  };
  return kernel;
}
