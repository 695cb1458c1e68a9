// A card: each bet of a chapter with the guess, this machine's number and the stored one; forget, link, challenge.

const MARKUP = `
  <div class="figure" role="status"><span class="it"></span> <small></small></div>
  <table class="card"><thead><tr><th>the bet</th><th>you</th><th>here</th><th>when this was written</th></tr></thead><tbody></tbody></table>
  <div class="bar"><button type="button" class="copy">Copy a link with my guesses</button>
  <button type="button" class="forget">Forget my guesses</button>
  <button type="button" class="peek">Show the numbers</button> <span class="state" role="status"></span></div>
  <p class="note reasons" hidden></p>
  <p class="linked" hidden><a></a></p>
  <p class="challenge"></p>`;

export function draw(root, data) {
  const find = (what) => root.querySelector(what);
  const anyMade = () => data.bets.some((bet) => recall(bet) !== null);
  let [peeks, unable] = [false, null];
  const show = () => {
    const guesses = data.bets.map((bet) => recall(bet));
    root.dataset.guess = JSON.stringify(guesses);
    const counts = data.bets.map((bet, number) => score(bet, guesses[number], bet.value));
    const [good, all] = [0, 1].map((part) => counts.reduce((sum, one) => sum + one[part], 0));
    const made = guesses.filter((guess) => guess !== null).length;
    find(".it").textContent = all ? `${good} of ${all} right or near` : made ? "no answers yet" : "no guesses yet";
    find("small").textContent = all ? "near: within a factor of two on a log axis, within a tenth of any other" : `${data.bets.length} bets in chapter ${data.chapter}`;
    find("tbody").replaceChildren(...data.bets.map((bet, number) => line(bet, guesses[number], counts[number], peeks || guesses[number] !== null)));
    find(".peek").hidden = peeks || made === data.bets.length;
    unable ??= reasons(find(".reasons"));
    for (const what of [".copy", ".forget"]) unable(find(what), made ? "" : "no guess is made yet.");
    find(".linked a").href = linkOf(data.bets);
    find(".linked a").textContent = "this page with these guesses";
    if (!made) find(".linked").hidden = true;
  };
  begin(root, data.bets, MARKUP, show);
  find(".challenge").textContent = `One more: ${data.challenge}`;
  const say = (text) => (find(".state").textContent = text);
  find(".copy").onclick = async () => {
    if (!anyMade()) return;
    find(".linked").hidden = false;
    try {
      await navigator.clipboard.writeText(linkOf(data.bets));
      say("Copied. Who opens it has your guesses, where they have none.");
    } catch {
      say("Copy the link below.");
    }
  };
  find(".peek").onclick = () => {
    peeks = true;
    show();
    find(".forget").focus();
  };
  find(".forget").onclick = () => {
    if (!anyMade()) return;
    peeks = false;
    for (const bet of data.bets) commit(bet, null);
    if (/[#&]bets=/.test(location.hash)) history.replaceState(null, "", location.href.split("#")[0]); // or it brings them back
    say("Forgotten: the answers are folded again.");
  };
}

function line(bet, guess, [good, all], told) {
  const row = document.createElement("tr");
  const sign = !all ? "" : good === all ? " ✓" : good ? ` (${good} of ${all})` : "";
  const stored = bet.stored ?? bet.value;
  const cells = [["bet", bet.question], ["you", guess === null ? "–" : brief(bet, guess) + sign]];
  const words = (value, none) => ((value ?? null) === null ? none : told ? brief(bet, value) : "folded");
  cells.push(["here", words(bet.value, "not run")], ["when this was written", words(stored, "–")]);
  cells.forEach(([what, text], number) => {
    const one = document.createElement(number ? "td" : "th");
    if (number) one.dataset.what = what;
    else one.scope = "row";
    one.textContent = text;
    row.append(one);
  });
  return row;
}
