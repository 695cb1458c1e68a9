// Controls, one below the other in three columns: name, handle, value. Each is made by make(box, { name, label, value,
// changed, … }) and gives { set(value), words(value), label, row, input }; `changed(value)` is called when the reader
// moves it, `set` moves it without a call. `name` is the handle's class; `words` says a value, also to screen readers.

function labelled(box, element, { name, label }) {
  const row = document.createElement("label");
  row.append(document.createElement("span"), document.createElement(element), document.createElement("output"));
  const [words, input, output] = row.children;
  words.textContent = label;
  input.className = name;
  input.setAttribute("aria-label", label); // the row's own text has the value in it too
  box.append(row);
  return { row, input, output };
}

// A slider over `stops`, any values in their order; `refit(others)` gives it other stops. With `settled`, `changed` is
// called when it is let go: for what takes seconds.
function slider(box, { name, label, stops, value, words = String, changed, settled = false }) {
  const { row, input, output } = labelled(box, "input", { name, label });
  Object.assign(input, { type: "range", min: 0, max: stops.length - 1, step: 1 });
  const show = (shown) => {
    output.textContent = words(shown);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const nearest = (wanted) => {
    const at = stops.indexOf(wanted);
    const away = (stop) => (typeof stop === "number" ? Math.abs(stop - wanted) : Infinity);
    return at >= 0 ? at : stops.reduce((best, stop, place) => (away(stop) < away(stops[best]) ? place : best), 0);
  };
  const set = (wanted) => {
    input.value = nearest(wanted);
    show(wanted);
  };
  input.oninput = () => {
    show(stops[input.value]);
    if (!settled) changed(stops[input.value]);
  };
  if (settled) input.onchange = () => changed(stops[input.value]);
  set(value);
  const refit = (others) => {
    stops.splice(0, stops.length, ...others);
    input.max = stops.length - 1;
  };
  return { set, refit, words, label, row, input };
}

// A choice among `options`, pairs of a value and its words; `tell(text)` puts text in the third column.
function choice(box, { name, label, options, value, changed }) {
  const { row, input, output } = labelled(box, "select", { name, label });
  for (const [option, text] of options) input.add(new Option(text, String(option)));
  const set = (wanted) => (input.selectedIndex = options.findIndex(([option]) => option === wanted));
  input.onchange = () => changed(options[input.selectedIndex][0]);
  set(value);
  const words = (wanted) => options.find(([option]) => option === wanted)?.[1] ?? String(wanted);
  return { set, words, label, row, input, tell: (text) => (output.textContent = text) };
}

// A whole number from `least` to `most`, typed; what is none is said, and changes nothing.
function numberBox(box, { name, label, least, most, value, changed }) {
  const { row, input, output } = labelled(box, "input", { name, label });
  Object.assign(input, { type: "number", min: least, max: most, step: 1 });
  input.oninput = () => {
    const [typed, legal] = [Number(input.value), input.value !== "" && input.validity.valid];
    output.textContent = legal ? "" : `give ${least} to ${most}`;
    if (legal) changed(typed);
  };
  const set = (wanted) => Number(input.value) === wanted && input.value !== "" ? undefined : (input.value = wanted);
  set(value);
  return { set, words: String, label, row, input };
}

// A line of text: `legal(text)` gives the value that it means, or null; then the last one stays, and `refused(text)` is
// called, with "" once what is typed is legal again. `offered` are values to choose from.
function textBox(box, { name, label, value, legal, refused, offered = [], changed }) {
  const { row, input } = labelled(box, "input", { name, label });
  const list = document.createElement("datalist");
  list.id = `offered-${Math.random().toString(36).slice(2, 8)}`;
  list.append(...offered.map((one) => new Option(one, one)));
  row.append(list);
  Object.assign(input, { type: "text", spellcheck: false });
  input.setAttribute("list", list.id);
  let last = value;
  const set = (wanted) => ([last, input.value] = [wanted, document.activeElement === input ? input.value : wanted]);
  input.onchange = () => {
    const [typed, meant] = [input.value, legal(input.value)];
    refused(meant === null ? typed || "nothing" : "");
    input.value = meant ?? last;
    if (meant !== null) changed(meant);
  };
  set(value);
  return { set, words: String, label, row, input };
}

// A button; one that reasons.js has disabled stays where Tab finds it, and is not pressed.
function button(box, words, pressed) {
  const made = document.createElement("button");
  [made.type, made.textContent] = ["button", words];
  made.onclick = () => made.getAttribute("aria-disabled") === "true" || pressed();
  box.append(made);
  return made;
}

// JupyterLab would take keys for its own shortcuts; it looks for this mark on the element with the focus.
function undisturbed(root) {
  for (const one of root.querySelectorAll("button, input, select, summary, [tabindex]")) one.dataset.lmSuppressShortcuts = "true";
}
