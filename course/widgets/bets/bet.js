// A bet: a question, something to set, and Commit. What is set is a draft until then, and locked afterwards.

const MARKUP = `
  <p class="question"></p>
  <form novalidate><div class="controls"></div>
  <div class="bar"><button>Commit</button> <span class="state" role="status"></span></div></form>`;

export function draw(root, data) {
  let draft = data.kind === "choice" ? null : data.rows.map(() => null);
  let controls = null;
  const find = (what) => root.querySelector(what);
  const say = (text) => (find(".state").textContent = text);
  const isMade = () => recall(data) !== null;
  const show = () => {
    const guess = recall(data);
    controls ??= CONTROLS[data.kind](find(".controls"), data, (changed) => (isMade() || ((draft = changed), say(""))));
    root.dataset.guess = JSON.stringify(guess);
    root.classList.toggle("locked", guess !== null);
    find("button").textContent = guess === null ? "Commit" : "Go to the answer";
    if (guess !== null) say(`You: ${brief(data, guess)}. Locked; the answer has it too.`);
    else if (find(".state").textContent.startsWith("You:")) say((draft = data.kind === "choice" ? null : data.rows.map(() => null), ""));
    controls.set(guess ?? draft, guess !== null);
  };
  begin(root, [data], MARKUP, show);
  find(".question").textContent = `Predict: ${data.question}`;
  find("form").onsubmit = (event) => {
    event.preventDefault();
    if (isMade()) return goToAnswer(data.name) || say("The answer is not there yet: run the cells below.");
    if (isLegal(data, draft)) return commit(data, draft);
    say(data.kind === "choice" ? "Choose one first." : `Set a number first, from ${said(data.low)} to ${withUnit(data, data.high)}.`);
  };
}

function goToAnswer(name) {
  const drawn = [...document.querySelectorAll(".bets[data-answers]")].find((one) => one.dataset.answers === name);
  const fold = drawn?.closest("details");
  if (!fold) return false;
  fold.open = true;
  fold.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  fold.querySelector("summary").focus({ preventScroll: true });
  return true;
}

const CONTROLS = { number: sliders, choice: options, line: drawn };

// --- numbers: a slider and a box each ---------------------------------------------------------------------------------

function sliders(box, bet, changed) {
  const values = bet.rows.map(() => null);
  const rows = bet.rows.map((name, row) => {
    const line = document.createElement("div");
    line.className = `number-row empty${name ? "" : " alone"}`;
    line.innerHTML = `${name ? "<span></span>" : ""}<div><input type="range"><div class="ticks" aria-hidden="true"></div></div>
      <span><input class="box" type="number" step="any"> <span class="unit"></span></span>`;
    if (name) line.firstElementChild.textContent = name;
    const [range, number] = line.querySelectorAll("input");
    line.querySelector(".unit").textContent = bet.unit;
    const steps = !bet.log && bet.whole && bet.high - bet.low <= 200 ? bet.high - bet.low : 200;
    Object.assign(range, { min: 0, max: steps, step: 1, value: 0 }); // not the middle: that would be a hint
    Object.assign(number, { min: bet.low, max: bet.high });
    range.setAttribute("aria-label", name || bet.question);
    number.setAttribute("aria-label", `${name || bet.question}: as a number`);
    for (const tick of ticks(bet, 5)) {
      const mark = document.createElement("span");
      mark.textContent = short(tick);
      mark.style.left = `${100 * place(bet, tick)}%`;
      mark.style.transform = `translateX(-${100 * place(bet, tick)}%)`; // so that none stands out
      line.querySelector(".ticks").append(mark);
    }
    const show = (value) => {
      line.classList.toggle("empty", value === null);
      range.setAttribute("aria-valuetext", value === null ? "not set" : withUnit(bet, value));
    };
    const set = (value) => {
      show((values[row] = value));
      changed([...values]);
    };
    range.oninput = () => {
      set(valueAt(bet, range.value / steps));
      number.value = values[row];
    };
    // where the handle is already, a click or an arrow key moves nothing, but is meant
    const touched = (isMeant) => {
      if (isMeant && values[row] === null && !range.disabled) range.oninput();
    };
    range.onclick = (event) => touched(event.detail > 0);
    range.onkeydown = (event) => touched(["ArrowLeft", "ArrowDown", "Home"].includes(event.key));
    number.oninput = () => {
      const value = number.value === "" ? null : Number(number.value);
      if (value !== null && bet.low <= value && value <= bet.high) range.value = steps * place(bet, value);
      set(value);
    };
    number.onkeydown = (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // JupyterLab leaves no Enter to the form
      event.stopPropagation();
      number.form.requestSubmit();
    };
    box.append(line);
    return (value, locked) => {
      [range.disabled, number.readOnly] = [locked, locked];
      if (locked || value === null) {
        number.value = value ?? "";
        range.value = value === null ? 0 : steps * place(bet, value);
        values[row] = value;
        show(value);
      }
    };
  });
  return { set: (guess, locked) => rows.forEach((row, number) => row(guess[number], locked)) };
}

// --- a choice: words, or pictures with words --------------------------------------------------------------------------

function options(box, bet, changed) {
  const set = document.createElement("fieldset");
  set.className = "options";
  set.setAttribute("aria-label", bet.question);
  const name = `bet-${Math.random().toString(36).slice(2)}`;
  const radios = Object.entries(bet.choices).map(([word, picture]) => {
    const one = document.createElement("label");
    one.innerHTML = `${picture ?? ""}<input type="radio" name="${name}"> <span></span>`;
    one.lastElementChild.textContent = word;
    const radio = one.querySelector("input");
    radio.value = word;
    radio.onchange = () => changed(word);
    set.append(one);
    return radio;
  });
  box.append(set);
  return {
    set(guess, locked) {
      for (const radio of radios) [radio.checked, radio.disabled] = [radio.value === guess, locked];
    },
  };
}

// --- a line, drawn by hand --------------------------------------------------------------------------------------------

function drawn(box, bet, changed) {
  let [values, locked] = [bet.rows.map(() => null), false];
  const sheet = svg("svg", { class: "sheet-of-line", role: "group", "aria-label": `${bet.question} Draw a line, or move each handle by the arrow keys.` });
  box.append(sheet);
  const line = svg("path", { class: "you" });
  const hint = svg("text", { "text-anchor": "middle" });
  const handles = bet.rows.map((row, number) => {
    const one = svg("circle", { r: 8, class: "handle", tabindex: 0, role: "slider", "aria-label": `${bet.across} ${row}`, "aria-valuemin": bet.low, "aria-valuemax": bet.high });
    one.onkeydown = (event) => {
      const step = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 }[event.key];
      if (step === undefined || locked) return;
      event.preventDefault();
      let [before, part] = [values[number], place(bet, values[number] ?? valueAt(bet, 0.5))];
      do part += step; // until rounding lets it move
      while (valueAt(bet, Math.min(1, Math.max(0, part))) === before && part > 0 && part < 1);
      put(number, valueAt(bet, Math.min(1, Math.max(0, part))));
    };
    return one;
  });
  sheet.append(...handles);
  let area;
  const paint = () => {
    const wide = wideness(box);
    area = paper(bet, wide);
    sized(sheet, wide, area.high);
    line.setAttribute("d", path(area, values));
    handles.forEach((handle, row) => {
      handle.classList.toggle("empty", values[row] === null);
      handle.setAttribute("cx", area.x(row));
      handle.setAttribute("cy", area.y(values[row] ?? valueAt(bet, 0.5)));
      handle.setAttribute("aria-valuenow", values[row] ?? valueAt(bet, 0.5));
      handle.setAttribute("aria-valuetext", values[row] === null ? "not set" : withUnit(bet, values[row]));
      handle.setAttribute("aria-disabled", locked);
    });
    for (const [key, value] of Object.entries({ x: wide / 2 + 20, y: 50 })) hint.setAttribute(key, value);
    hint.textContent = values.some((one) => one !== null) || locked ? "" : "you draw it";
    for (const old of [...sheet.childNodes]) if (!handles.includes(old)) old.remove(); // a handle keeps its focus
    sheet.prepend(...area.frame, hint, line);
  };
  const put = (row, value) => {
    values[row] = value;
    changed([...values]);
    paint();
  };
  let last = null;
  const at = (event) => {
    const corner = sheet.getBoundingClientRect();
    return area.at(event.clientX - corner.left, event.clientY - corner.top);
  };
  sheet.onpointerdown = (event) => {
    if (locked) return;
    sheet.setPointerCapture(event.pointerId);
    last = at(event);
    put(...last);
  };
  sheet.onpointermove = (event) => {
    if (last === null || locked) return;
    const [row, value] = at(event);
    const [from, before] = last;
    for (let between = Math.min(from, row) + 1; between < Math.max(from, row); between++) {
      put(between, valueAt(bet, place(bet, before) + ((between - from) / (row - from)) * (place(bet, value) - place(bet, before)))); // a quick hand
    }
    put(row, value);
    last = [row, value];
  };
  sheet.onpointerup = sheet.onpointercancel = () => (last = null);
  onWidth(box, paint);
  return {
    set(guess, isLocked) {
      [values, locked] = [[...guess], isLocked];
      paint();
    },
  };
}
