// What a reader has guessed: kept by the browser under the bet's name ("01 six ops"), known to all drawings of a page.
// A guess is a word, or a list with a number or null for each row. `begin` draws a bet, an answer or a card: `show` is
// called now, and whenever a guess was made or forgotten, here or in another tab.

const KEPT = "course.bet.";
const memory = (globalThis.courseBets ??= { guesses: new Map(), link: "", listens: false });

function read(name) {
  try {
    return localStorage.getItem(KEPT + name);
  } catch {
    return memory.guesses.get(name) ?? null; // a page that may keep nothing
  }
}

function write(name, text) {
  memory.guesses.set(name, text);
  try {
    text === null ? localStorage.removeItem(KEPT + name) : localStorage.setItem(KEPT + name, text);
  } catch {
    // it lasts as long as the page
  }
}

// Return the guess, or null: nothing is kept, or what no longer fits (a file from an older version asked otherwise).
function recall(bet) {
  try {
    const guess = JSON.parse(read(bet.name));
    return isLegal(bet, guess) ? guess : null;
  } catch {
    return null;
  }
}

function isLegal(bet, guess) {
  if (bet.kind === "choice") return typeof guess === "string" && Object.hasOwn(bet.choices, guess);
  if (!Array.isArray(guess) || guess.length !== bet.rows.length || guess.every((one) => one === null)) return false;
  return guess.every((one) => one === null || (Number.isFinite(one) && bet.low <= one && one <= bet.high));
}

// Keep a `guess`, or forget it: `null`. Who calls this knows that none is locked.
function commit(bet, guess) {
  write(bet.name, guess === null ? null : JSON.stringify(guess));
  tell();
}

function tell() {
  for (const drawn of document.querySelectorAll(".bets")) drawn.dispatchEvent(new Event("bets"));
}

// A link carries guesses behind the page's address; they fill what is empty, and replace nothing.
function fromLink() {
  const came = performance.getEntriesByType("navigation")[0]?.name ?? ""; // JupyterLab takes the # away
  const link = [location.hash, came].map((text) => text.match(/[#&]bets=([^&]+)/)?.[1]).find(Boolean) ?? "";
  if (!link || link === memory.link) return;
  memory.link = link;
  try {
    for (const [name, guess] of Object.entries(JSON.parse(decodeURIComponent(link)))) {
      if (/^\d\d \S.{0,56}$/.test(name) && read(name) === null) write(name, JSON.stringify(guess));
    }
  } catch {
    // not a link of ours, or half of one
  }
}

// Without what stands behind a "?": there a server's token may be.
function linkOf(bets) {
  const made = bets.map((bet) => [bet.name, recall(bet)]).filter(([, guess]) => guess !== null);
  return `${location.href.split(/[?#]/)[0]}#bets=${encodeURIComponent(JSON.stringify(Object.fromEntries(made)))}`;
}

// Call `show` whenever a guess was made or forgotten.
function listen(root, show) {
  root.classList.add("bets");
  if (!memory.listens) {
    memory.listens = true;
    addEventListener("storage", (event) => (event.key === null || event.key.startsWith(KEPT)) && tell());
    addEventListener("hashchange", () => (fromLink(), tell()));
  }
  fromLink();
  root.addEventListener("bets", show);
}

function begin(root, bets, markup, show) {
  root.innerHTML = markup;
  listen(root, show);
  const made = bets.filter((bet) => (bet.guess ?? null) !== null && recall(bet) === null); // by Python's `commit`
  for (const bet of made) write(bet.name, JSON.stringify(bet.guess));
  // JupyterLab would take the keys for its own shortcuts; it looks for this mark on the element with the focus
  root.addEventListener("focusin", (event) => (event.target.dataset.lmSuppressShortcuts = "true"));
  show();
  if (made.length) tell();
}

// --- words ----------------------------------------------------------------------------------------------------------

function said(value) {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

// A line in few words: its ends.
function brief(bet, guess) {
  if (bet.kind !== "line") return inWords(bet, guess);
  const known = guess.filter((one) => one !== null);
  return known.length > 1 ? `${said(known[0])} … ${withUnit(bet, known.at(-1))}` : inWords(bet, guess);
}

const withUnit = (bet, value) => said(value) + (bet.unit ? ` ${bet.unit}` : "");

function inWords(bet, guess) {
  if (guess === null || bet.kind === "choice") return guess ?? "";
  const known = bet.rows.map((row, place) => [row, guess[place] ?? null]).filter(([, one]) => one !== null);
  return known.map(([row, one]) => (row ? `${row}: ` : "") + withUnit(bet, one)).join(", ");
}

// How near a guess is: 2 right, 1 near (within a factor of two, or a tenth of the axis), 0 further off.
function near(bet, guess, value) {
  if (said(guess) === said(value)) return 2;
  if (bet.log) return Math.abs(Math.log2(guess / value)) <= 1 ? 1 : 0;
  return Math.abs(guess - value) <= (bet.high - bet.low) / 10 ? 1 : 0;
}

function howFar(bet, guess, value) {
  const how = near(bet, guess, value);
  if (how === 2) return "right";
  const side = guess > value ? "too high" : "too low";
  if (!bet.log) return `${withUnit(bet, Math.abs(guess - value))} ${side}`;
  const factor = Math.max(guess / value, value / guess);
  return factor < 1.1 ? "nearly right" : `${said(factor)} times ${side}`;
}

// Return [near or right, guessed and measured] over the rows of a bet.
function score(bet, guess, value) {
  if (guess === null || value === null || value === undefined) return [0, 0];
  if (bet.kind === "choice") return [guess === value ? 1 : 0, 1];
  const both = bet.rows.map((_, row) => [guess[row], value[row]]).filter(([one, other]) => one !== null && other !== null);
  return [both.filter(([one, other]) => near(bet, one, other)).length, both.length];
}
