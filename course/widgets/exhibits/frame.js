// The frame around an exhibit's picture: headline, controls, buttons, sentence, and who answers; and what is written there.

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

// Who answers, in words. `kernel`: see kernel.js; `shown`: whether there is an answer; `other`: the settings that it is an
// answer to, in words, "" where these are the present ones.
function whoAnswers({ mode, busy, wrong }, shown, other) {
  if (wrong) return wrong;
  if (!shown) return busy === null ? `${WHO[mode]} There is none to these settings: run the notebook.` : "The kernel is at work; the picture follows.";
  if (!other) return WHO[mode];
  if (busy !== null) return `Shown: ${other}. The kernel is at work on the new setting.`;
  if (mode === "silent") return `Shown: ${other}. The kernel does not answer: it is busy, or gone. If it is gone, run the notebook.`;
  return mode === "live" ? `Shown: ${other}.` : `Shown: ${other}. No answer to the new setting is stored: run the notebook for it.`;
}

// Put the frame into `root`, and return its places and the functions that write into them.
function exhibitFrame(root) {
  root.innerHTML = FRAME;
  const find = (selector) => root.querySelector(selector);
  const write = (place, words) => ([place.textContent, place.hidden] = [words, !words]);
  return {
    picture: find(".picture"),
    sliders: find(".sliders"),
    buttons: find(".buttons"),
    reasons: find(".reasons"),
    work: find(".work"),
    say({ figure = "", small = "", sentence = "", right, alt }) {
      [find(".says").textContent, find(".figure small").textContent, find(".sentence").textContent] = [figure, small, sentence];
      find(".sentence").className = `note sentence${right === undefined ? "" : right ? " ok" : " wrong"}`;
      if (alt) find(".picture svg").setAttribute("aria-label", alt);
    },
    note: (words) => write(find(".said"), words),
    noted: () => find(".said").textContent,
    // How far the kernel is, 0 to 1; null: it does nothing.
    progress(busy) {
      const held = busy === null && find(".work").contains(document.activeElement); // by Stop, which goes
      find(".work").hidden = busy === null;
      if (held) [...root.querySelectorAll(".sliders :is(input, select), .buttons button")].at(-1)?.focus(); // or Tab would begin anew
      if (busy !== null) find("progress").value = busy;
    },
    who(words, isWrong) {
      write(find(".who"), words);
      find(".who").classList.toggle("wrong", isWrong);
    },
  };
}
