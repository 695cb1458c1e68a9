// A sheet to draw a digit on, or to choose a stored one; who answers is the kernel's server, or what was stored.

const SIDE = 28;

// The network has seen digits of one size, in the middle: strokes of any other are moved and scaled to a box of 20.
export function fitted(strokes) {
  const points = strokes.flat();
  const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const long = Math.max(Math.max(...xs) - left, Math.max(...ys) - top, 6); // a dot stays small
  const scale = 18 / long; // … and the pen is 2 wide
  const placed = strokes.map((one) => one.map(([x, y]) => [(x - left) * scale, (y - top) * scale]));
  const middle = massOf(ink(placed.map((one) => one.map(([x, y]) => [x + 5, y + 5]))));
  return placed.map((one) => one.map(([x, y]) => [x + 5 + 13.5 - middle[0], y + 5 + 13.5 - middle[1]]));
}

function massOf(pixels) {
  let [all, x, y] = [0, 0, 0];
  pixels.forEach((value, at) => {
    all += value;
    x += value * (at % SIDE);
    y += value * Math.floor(at / SIDE);
  });
  return all ? [x / all, y / all] : [13.5, 13.5];
}

// A pen of 1.8 pixels, soft at its edge: dark within 0.8 of a stroke, nothing beyond 1.8. Points are [x, y], in pixels.
export function ink(strokes) {
  const sheet = new Float64Array(SIDE * SIDE);
  for (const stroke of strokes) {
    stroke.forEach(([toX, toY], at) => {
      const [x, y] = stroke[Math.max(0, at - 1)];
      const [across, down] = [toX - x, toY - y];
      const long = across * across + down * down;
      for (let row = Math.max(0, Math.floor(Math.min(y, toY) - 2)); row < Math.min(SIDE, Math.max(y, toY) + 3); row++) {
        for (let column = Math.max(0, Math.floor(Math.min(x, toX) - 2)); column < Math.min(SIDE, Math.max(x, toX) + 3); column++) {
          const part = long ? Math.max(0, Math.min(1, ((column - x) * across + (row - y) * down) / long)) : 0;
          const away = Math.hypot(column - x - part * across, row - y - part * down);
          sheet[row * SIDE + column] = Math.max(sheet[row * SIDE + column], Math.min(1, 1.8 - away));
        }
      }
    });
  }
  return sheet;
}

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

// Dark ink on white paper in both themes: it is a sheet.
function show(canvas, bytes) {
  canvas.width = canvas.height = SIDE;
  const image = new ImageData(SIDE, SIDE);
  bytes.forEach((value, at) => image.data.set([255 - value, 255 - value, 255 - value, 255], 4 * at));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const DESK = `
  <div class="desk">
    <div><canvas class="sheet" width="224" height="224" role="img"></canvas>
      <div class="bar"><button type="button" class="clear">Clear</button> <span class="asked">sent: <canvas></canvas></span></div></div>
    <table class="bars"><tbody></tbody></table>
  </div>
  <div class="bar stored" role="group" aria-label="stored digits"></div>`;

// Draw with mouse, pen or finger: `drawn(strokes)` is called after each stroke, points in pixels of the 28 × 28 sheet.
function pen(canvas, drawn) {
  let [strokes, drawing] = [[], false];
  const context = canvas.getContext("2d");
  const size = canvas.width / SIDE;
  const blank = () => {
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE - 0.5, ((event.clientY - box.top) / box.height) * SIDE - 0.5];
  };
  const line = () => {
    const stroke = strokes.at(-1);
    context.strokeStyle = "#111";
    [context.lineWidth, context.lineCap, context.lineJoin] = [2.4 * size, "round", "round"];
    context.beginPath();
    for (const [x, y] of [stroke[0], ...stroke]) context.lineTo((x + 0.5) * size, (y + 0.5) * size);
    context.stroke();
  };
  canvas.onpointerdown = (event) => {
    if (drawing || event.button > 0) return;
    drawing = true;
    canvas.setPointerCapture(event.pointerId);
    if (!strokes.length) blank();
    strokes.push([at(event)]);
    line();
    event.preventDefault();
  };
  canvas.onpointermove = (event) => {
    if (!drawing) return;
    strokes.at(-1).push(at(event));
    line();
  };
  canvas.onpointerup = canvas.onpointercancel = () => {
    if (!drawing) return;
    drawing = false;
    drawn(strokes);
  };
  blank();
  return () => {
    strokes = [];
    blank();
  };
}

const inBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

const likeliest = (shares) => shares.indexOf(Math.max(...shares));
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// A row a network: its name, ten bars, the digit that it says and its share.
function networkRows(table, names) {
  const digits = [...Array(10).keys()];
  table.innerHTML = `<tr><th></th><td><span class="ten">${digits.map((digit) => `<b>${digit}</b>`).join("")}</span></td><td>says</td><td></td></tr>`;
  const rows = names.map((name) => {
    const row = table.insertRow();
    row.innerHTML = `<th scope="row"></th><td><span class="ten">${digits.map(() => "<i></i>").join("")}</span></td><td class="digit"></td><td class="number"></td>`;
    row.firstChild.textContent = name;
    return row;
  });
  return (each) =>
    names.forEach((name, place) => {
      const shares = each?.[name];
      const best = shares ? likeliest(shares) : null;
      rows[place].querySelectorAll("i").forEach((bar, digit) => {
        bar.style.height = `${26 * (shares?.[digit] ?? 0)}px`;
        bar.className = digit === best ? "best" : "";
      });
      const [digit, number] = [...rows[place].cells].slice(2);
      [digit.textContent, number.textContent] = shares ? [best, percent(shares[best])] : ["", ""];
    });
}

// What several networks say together, as the headline and the words beside it.
function together(each, root) {
  const best = Object.values(each).map(likeliest);
  root.dataset.answer = JSON.stringify(Object.fromEntries(Object.keys(each).map((name, place) => [name, best[place]])));
  const different = [...new Set(best)];
  if (different.length === 1) return { figure: `a ${different[0]}`, small: `say all ${best.length} networks` };
  const count = (digit) => best.filter((one) => one === digit).length;
  const said = different.sort((one, other) => count(other) - count(one)).map((digit) => `${count(digit)} ${count(digit) === 1 ? "says" : "say"} ${digit}`);
  return { figure: "they disagree", small: `of ${best.length} networks ${said.join(", ")}` };
}

export function draw(root, data) {
  const rows = [];
  let paintEach = null; // where there are several networks
  const paint = (answer, { ink: of }) => {
    const live = answer.milliseconds !== undefined;
    const stored = data.grid.find(([differs]) => differs.ink === of)?.[1];
    const said = answer.probabilities || answer.each ? answer : (stored ?? {}); // a kernel whose server is gone knows less than the page
    const sentence = words(answer, of, stored, live);
    if (paintEach) {
      paintEach(said.each);
      const empty = { figure: of ? "no answer" : "draw a digit" };
      return { ...(said.each ? together(said.each, root) : empty), sentence };
    }
    const best = said.probabilities ? likeliest(said.probabilities) : null;
    rows.forEach((row, digit) => {
      const share = said.probabilities?.[digit];
      row.className = digit === best ? "best" : "";
      row.querySelector("i").style.width = `${100 * (share ?? 0)}%`;
      row.lastChild.textContent = share === undefined ? "" : percent(share);
    });
    root.dataset.answer = JSON.stringify({ best, version: said.version ?? null, live });
    return {
      figure: best === null ? (of ? "no answer" : "draw a digit") : `a ${best}`,
      small: best === null ? "" : `says ${data.model}, version ${said.version}`,
      sentence,
    };
  };
  const words = (answer, of, stored, live) => {
    if (!of) return "With a mouse, a pen or a finger; or choose one of these.";
    if (live && paintEach) return `The networks answered in ${answer.milliseconds.toFixed(1)} ms, all in this kernel.`;
    if (live) return `The server answered in ${answer.milliseconds.toFixed(1)} ms, the way there and back included.`;
    const instead = stored?.probabilities || stored?.each ? "This is the answer stored when the cell ran." : "There is no stored answer to this: choose a stored digit, or run the notebook.";
    return answer.wrong ? `${paintEach ? "A network failed" : "The kernel found no server"} (${answer.wrong}). ${instead}` : `${instead} Draw over it, or choose a stored one.`;
  };
  const state = exhibit(root, data, paint);
  state.picture.innerHTML = DESK;
  const find = (what) => state.picture.querySelector(what);
  if (data.networks.length) paintEach = networkRows(find(".bars tbody"), data.networks);
  for (let digit = 0; digit < (paintEach ? 0 : 10); digit++) {
    const row = find(".bars tbody").insertRow();
    row.innerHTML = `<th scope="row">${digit}</th><td><i></i></td><td class="number"></td>`;
    rows.push(row);
  }
  // what was drawn here, and what is on the sheet: that may have been put there by a button, or from Python
  let [mine, there] = [null, null];
  const again = pen(find(".sheet"), (strokes) => {
    mine = inBase64(Uint8Array.from(ink(fitted(strokes)), (value) => Math.round(255 * value)));
    state.set({ ink: mine });
  });
  const put = (text) => {
    if (text === there) return;
    const bytes = text ? bytesOf(text) : new Uint8Array(SIDE * SIDE);
    show(find(".asked canvas"), bytes);
    there = text;
    if (text && text === mine) return;
    again();
    mine = null;
    if (!text) return;
    const small = document.createElement("canvas");
    show(small, bytes);
    const sheet = find(".sheet").getContext("2d");
    sheet.imageSmoothingEnabled = false;
    sheet.drawImage(small, 0, 0, 224, 224);
  };
  find(".sheet").setAttribute("aria-label", "A sheet to draw a digit on with a mouse, a pen or a finger; the stored digits are for the keyboard.");
  find(".clear").onclick = () => state.set({ ink: "" });
  data.digits.forEach(({ ink: text, label }) => {
    const [choose, canvas] = [button(find(".stored"), "", () => state.set({ ink: text })), document.createElement("canvas")];
    choose.setAttribute("aria-label", `stored digit, a ${label}`);
    show(canvas, bytesOf(text));
    choose.append(canvas);
  });
  // the sheet is the control of `ink`: it is set whenever the state is
  state.tie("ink", () => ({ label: "the answer to", words: () => "the drawing before", set: put }));
  state.start();
}
