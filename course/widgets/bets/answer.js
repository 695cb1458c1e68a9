// An answer: what was measured and what was guessed in one picture. Its fold opens when there is a guess.

const MARKUP = `
  <div class="figure" role="status"><span class="it"></span> <small></small></div>
  <div class="picture"></div>
  <p class="why"></p>`;

export function draw(root, data) {
  const fold = root.closest("details");
  root.dataset.answers = data.name;
  let before;
  const find = (what) => root.querySelector(what);
  const paint = () => PICTURES[data.kind](find(".picture"), data, recall(data));
  const show = () => {
    const guess = recall(data);
    const text = JSON.stringify(guess);
    if (text === before) return;
    if (fold && (guess !== null || before !== undefined)) fold.open = guess !== null;
    before = root.dataset.guess = text;
    [find(".it").textContent, find("small").textContent] = headline(data, guess);
    if (fold) fold.querySelector("summary").textContent = guess === null ? `The answer, folded until you commit: ${data.question}` : data.question;
    paint();
  };
  begin(root, [data], MARKUP, show);
  find(".why").textContent = data.why;
  onWidth(find(".picture"), () => (show(), paint(), scrolled(fold)));
  fold?.addEventListener("toggle", () => scrolled(fold)); // while it is folded nothing in it has a width
}

// What is wider than the page is moved sideways, by keys too.
function scrolled(fold) {
  for (const shown of fold?.querySelectorAll(".shown") ?? []) {
    if (shown.scrollWidth > shown.clientWidth) Object.assign(shown, { tabIndex: 0, role: "group", ariaLabel: "what was shown" });
    else shown.removeAttribute("tabindex");
  }
}

function headline(bet, guess) {
  const { kind, rows, value } = bet;
  const none = "you made no guess";
  if (kind === "choice") return [`it was: ${value}`, guess === null ? none : guess === value ? `you: ${guess}, right` : `you: ${guess}`];
  if (kind === "number" && rows.length === 1) {
    return [`it was ${withUnit(bet, value[0])}`, guess === null ? none : `you: ${withUnit(bet, guess[0])}, ${howFar(bet, guess[0], value[0])}`];
  }
  const [good, all] = score(bet, guess, value);
  const known = value.filter((one) => one !== null).length;
  if (!all) return [kind === "line" ? "the measured line" : `${known} of ${rows.length} measured`, none];
  const close = bet.log ? "within a factor of two" : "within a tenth of the axis";
  return [`${good} of ${all} ${close}`, `your ${kind === "line" ? "line" : "guesses"} and what was measured`];
}

const PICTURES = { number: lanes, choice: list, line: twoLines };

function lanes(box, bet, guess) {
  const [wide, named] = [wideness(box), bet.rows.length > 1];
  const shown = bet.rows.map((_, row) => row).filter((row) => bet.value[row] !== null);
  const axis = stretched(bet, [...bet.value, ...(guess ?? [])]);
  const [lane, left] = [named ? 74 : 58, 12];
  const high = shown.length * lane + 22;
  const x = (value) => left + place(axis, value) * (wide - 2 * left);
  const picture = svg("svg", { class: "axis", role: "img" });
  sized(picture, wide, high);
  for (const tick of ticks(axis, wide < 420 ? 4 : 7)) {
    picture.append(svg("line", { x1: x(tick), x2: x(tick), y1: 4, y2: high - 18, class: "grid" }), label(x(tick), high - 4, short(tick), "", 0, wide));
  }
  shown.forEach((row, number) => {
    const y = number * lane + (named ? 44 : 28);
    const [mine, value] = [guess?.[row] ?? null, bet.value[row]];
    if (named) picture.append(svg("text", { x: 0, y: y - 30 }, bet.rows[row]));
    picture.append(svg("line", { x1: left, x2: wide - left, y1: y, y2: y, class: "lane" }));
    picture.append(svg("circle", { cx: x(value), cy: y, r: 5.5, class: "found dot" }), label(x(value), y + 21, withUnit(bet, value), "found", 0, wide));
    if (mine !== null) picture.append(svg("circle", { cx: x(mine), cy: y, r: 10, class: "you" }), label(x(mine), y - 14, `you: ${withUnit(bet, mine)}`, "you", 0, wide));
  });
  picture.setAttribute("aria-label", `It was ${inWords(bet, bet.value)}. ${guess ? `You: ${inWords(bet, guess)}.` : "No guess."}`);
  box.replaceChildren(picture);
}

function list(box, bet, guess) {
  const rows = document.createElement("ul");
  rows.className = "found";
  for (const [word, picture] of Object.entries(bet.choices)) {
    const one = document.createElement("li");
    one.innerHTML = picture ?? "";
    const marks = [word === bet.value ? "● it was" : "", word === guess ? "○ you" : ""].filter(Boolean).join(", ");
    one.append(marks ? `${word}: ${marks}` : word);
    one.classList.toggle("found", word === bet.value);
    one.classList.toggle("you", word === guess);
    rows.append(one);
  }
  box.replaceChildren(rows);
}

function twoLines(box, bet, guess) {
  const wide = wideness(box);
  const axis = stretched(bet, [...bet.value, ...(guess ?? [])]);
  const sheet = paper(axis, wide);
  const picture = svg("svg", { class: "axis", role: "img" });
  sized(picture, wide, sheet.high);
  picture.append(...sheet.frame);
  for (const [values, kind, words] of [[guess ?? [], "you", "you"], [bet.value, "found", "measured"]]) {
    picture.append(svg("path", { d: path(sheet, values), class: kind }));
    values.forEach((value, row) => value !== null && picture.append(svg("circle", { cx: sheet.x(row), cy: sheet.y(value), r: kind === "you" ? 7 : 4.5, class: kind === "you" ? "you" : "found dot" })));
    const last = values.findLastIndex((value) => value !== null);
    if (last >= 0) picture.append(label(sheet.x(last) - 6, Math.max(11, sheet.y(values[last]) + (kind === "you" ? -13 : 20)), words, kind, 60, wide));
  }
  picture.setAttribute("aria-label", `Measured: ${inWords(bet, bet.value)}. ${guess ? `You: ${inWords(bet, guess)}.` : "No guess."}`);
  box.replaceChildren(picture);
}
