// The page's half of LifePlayer: draws the board that Python computed and tells Python what the reader did.

function controls(model) {
  const root = document.createElement("div");
  root.className = "course life-player";
  root.innerHTML = `
    <div class="bar">
      <button type="button" class="play">Play</button>
      <button type="button" class="step">Step</button>
      <button type="button" class="clear">Clear</button>
      <label>pattern <select class="pattern"></select></label>
      <label>speed <input class="speed" type="range" min="0.5" max="30" step="0.5"></label>
      <label>rule <input class="rule" type="text" size="10" spellcheck="false"></label>
    </div>
    <div class="figure"><span class="generation"></span> <small>generation</small>
      <span class="population"></span> <small>living cells</small></div>
    <canvas tabindex="0" role="application"></canvas>
    <p class="note" role="status"></p>`;
  // JupyterLab would take keys for its own shortcuts; it looks for this mark on the element with the focus
  for (const part of root.querySelectorAll("button, select, input, canvas")) part.dataset.lmSuppressShortcuts = "true";
  const select = root.querySelector(".pattern");
  for (const name of ["", ...model.get("patterns")]) {
    const option = document.createElement("option");
    option.value = name;
    option.textContent = name ? name.replaceAll("_", " ") : "—";
    select.append(option);
  }
  return root;
}

// Cells a page can hold without scrolling sideways: whole pixels each, 16 at most.
function cellSize(model) {
  return Math.max(1, Math.floor(Math.min(600 / model.get("width"), 400 / model.get("height"), 16)));
}

function drawBoard(model, canvas, cursor) {
  const [height, width, size] = [model.get("height"), model.get("width"), cellSize(model)];
  const bytes = model.get("cells");
  const bits = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
  canvas.width = width * size;
  canvas.height = height * size;
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const gap = size > 4 ? 1 : 0;
  pen.fillStyle = style.getPropertyValue("--cpu");
  for (let at = 0; at < height * width; at++) {
    if ((bits[at >> 3] >> (7 - (at & 7))) & 1) {
      pen.fillRect((at % width) * size, Math.floor(at / width) * size, size - gap, size - gap);
    }
  }
  if (document.activeElement === canvas) {
    pen.strokeStyle = style.getPropertyValue("--gpu");
    pen.lineWidth = 2;
    pen.strokeRect(cursor.column * size, cursor.row * size, size, size);
  }
  canvas.setAttribute(
    "aria-label",
    `Board of ${height} rows and ${width} columns, cursor at row ${cursor.row}, column ${cursor.column}. ` +
      "Arrow keys move, Enter draws or erases a cell, Space steps, P plays.",
  );
}

function render({ model, el }) {
  const root = controls(model);
  const find = (what) => root.querySelector(what);
  const canvas = find("canvas");
  const cursor = { row: 0, column: 0 };
  let timer = null;
  el.append(root);

  const ask = (what, more = {}) => model.send({ do: what, ...more });
  const setPlaying = (playing) => {
    model.set("playing", playing);
    model.save_changes();
  };

  // The next board is asked for when the last one has been drawn. "from" makes a step that two views of one player both
  // ask for happen once.
  const step = () => ask("step", { from: model.get("generation") });
  const next = () => {
    clearTimeout(timer);
    if (model.get("playing")) timer = setTimeout(step, 1000 / model.get("speed"));
  };
  const draw = () => {
    drawBoard(model, canvas, cursor);
    find(".generation").textContent = model.get("generation");
    find(".population").textContent = model.get("population");
  };
  const drawControls = () => {
    find(".play").textContent = model.get("playing") ? "Pause" : "Play";
    find(".pattern").value = model.get("pattern");
    find(".speed").value = model.get("speed");
    if (document.activeElement !== find(".rule")) find(".rule").value = model.get("rule");
    find(".note").textContent = model.get("message");
  };

  const toggle = (row, column) => {
    Object.assign(cursor, { row, column });
    draw();
    ask("toggle", { row, column });
  };
  canvas.onpointerdown = (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top - canvas.clientTop) / canvas.clientHeight) * model.get("height"));
    const column = Math.floor(((event.clientX - box.left - canvas.clientLeft) / canvas.clientWidth) * model.get("width"));
    if (row >= 0 && column >= 0 && row < model.get("height") && column < model.get("width")) toggle(row, column);
  };
  canvas.onkeydown = (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const [height, width] = [model.get("height"), model.get("width")];
    if (moves[event.key]) {
      cursor.row = (cursor.row + moves[event.key][0] + height) % height;
      cursor.column = (cursor.column + moves[event.key][1] + width) % width;
      draw();
    } else if (event.key === "Enter") toggle(cursor.row, cursor.column);
    else if (event.key === " ") step();
    else if (event.key === "p") setPlaying(!model.get("playing"));
    else return;
    event.preventDefault();
  };
  canvas.onfocus = canvas.onblur = draw;

  find(".play").onclick = () => setPlaying(!model.get("playing"));
  find(".step").onclick = step;
  find(".clear").onclick = () => ask("clear");
  find(".pattern").onchange = (event) => event.target.value && ask("load", { pattern: event.target.value });
  find(".rule").onchange = (event) => ask("rule", { rule: event.target.value });
  find(".rule").onkeydown = (event) => event.key === "Enter" && event.target.blur(); // which is a change
  find(".speed").oninput = (event) => {
    model.set("speed", +event.target.value);
    model.save_changes();
  };

  const change = () => {
    draw();
    drawControls();
    next();
  };
  model.on("change", change);
  model.on("msg:custom", drawControls);
  // The colours are the page's: draw once the player is part of it, which may be a few frames from now.
  const first = () => (root.isConnected ? change() : (waiting = requestAnimationFrame(first)));
  let waiting = requestAnimationFrame(first);
  return () => {
    cancelAnimationFrame(waiting);
    clearTimeout(timer);
    model.off("change", change);
    model.off("msg:custom", drawControls);
  };
}

export default { render };
