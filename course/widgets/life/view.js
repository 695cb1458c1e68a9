// The board on a canvas: one image of a pixel a cell, scaled. What is seen of it is `view`: the cell at its top left
// corner, and CSS pixels a cell.

const LARGEST_CELL = 28; // CSS pixels, unless the reader zooms in
const CLOSEST = 40;
const TALLEST = 420;

function lifeView(place, world) {
  const canvas = document.createElement("canvas");
  canvas.className = "board";
  [canvas.tabIndex, canvas.role] = [0, "application"];
  place.append(canvas);
  const sheet = document.createElement("canvas");
  const cursor = { row: 0, column: 0 };
  const view = { x: 0, y: 0, size: 1, fit: 1, wide: 0, tall: 0, hints: false };
  let [image, pixels, before, next] = [null, null, null, null];

  const layout = () => {
    before = place.clientWidth;
    const most = Math.max(200, Math.min(before || 700, 720));
    view.fit = Math.min(most / world.width, TALLEST / world.height, LARGEST_CELL);
    const dense = Math.min(2, devicePixelRatio || 1);
    for (const [pixels, css, cells] of [["width", "wide", world.width], ["height", "tall", world.height]]) {
      view[css] = Math.max(120, Math.floor(cells * view.fit));
      [canvas[pixels], canvas.style[pixels]] = [view[css] * dense, `${view[css]}px`];
    }
    [sheet.width, sheet.height] = [world.width, world.height];
    image = new ImageData(world.width, world.height);
    pixels = new Uint32Array(image.data.buffer);
    [cursor.row, cursor.column] = [Math.min(cursor.row, world.height - 1), Math.min(cursor.column, world.width - 1)];
  };
  const inside = (at, cells, pixelsWide) => (cells <= pixelsWide ? (cells - pixelsWide) / 2 : Math.max(0, Math.min(cells - pixelsWide, at)));
  const go = (x, y, size = view.size) => {
    view.size = Math.max(view.fit, Math.min(CLOSEST, size));
    [view.x, view.y] = [inside(x, world.width, view.wide / view.size), inside(y, world.height, view.tall / view.size)];
  };
  // By CSS pixels.
  const pan = (right, down) => go(view.x + right / view.size, view.y + down / view.size);
  // Around a point of the canvas, in CSS pixels, which stays where it is.
  const zoom = (times, [x, y] = [view.wide / 2, view.tall / 2]) => {
    const size = Math.max(view.fit, Math.min(CLOSEST, view.size * times));
    go(view.x + x / view.size - x / size, view.y + y / view.size - y / size, size);
    paint();
  };
  const fit = () => {
    layout();
    go(0, 0, view.fit);
  };
  const whole = () => {
    fit();
    paint();
  };
  // Moves the view as far as the cursor's cell needs to be seen.
  const follow = () => {
    const near = (at, cell, cells) => Math.min(cell, Math.max(at, cell + 1 - cells));
    go(near(view.x, cursor.column, view.wide / view.size), near(view.y, cursor.row, view.tall / view.size));
  };
  const cellAt = ([x, y]) => [Math.floor(view.y + y / view.size), Math.floor(view.x + x / view.size)];

  const paint = () => {
    const style = getComputedStyle(canvas);
    const [cell, ink] = [style.getPropertyValue("--cpu").trim(), style.color];
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(cell.slice(at, at + 2), 16));
    const on = (255 << 24) | (blue << 16) | (green << 8) | red;
    for (let at = 0; at < pixels.length; at++) pixels[at] = -world.cells[at] & on;
    sheet.getContext("2d").putImageData(image, 0, 0);
    const [pen, size, dense] = [canvas.getContext("2d"), view.size, canvas.width / view.wide];
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(size * dense, 0, 0, size * dense, -view.x * size * dense, -view.y * size * dense);
    pen.imageSmoothingEnabled = size * dense < 1;
    pen.drawImage(sheet, 0, 0);
    if (size >= 6) lines(pen, ink);
    if (view.hints && size >= 6) hints(pen, cell);
    if (document.activeElement !== canvas) return;
    [pen.strokeStyle, pen.lineWidth] = [style.getPropertyValue("--gpu"), 2.5 / size];
    pen.strokeRect(cursor.column, cursor.row, 1, 1);
  };
  const soon = () => requestAnimationFrame(paint);
  const lines = (pen, ink) => {
    [pen.strokeStyle, pen.lineWidth, pen.globalAlpha] = [ink, 1 / view.size, 0.16];
    pen.beginPath();
    for (let row = 0; row <= world.height; row++) pen.moveTo(0, row), pen.lineTo(world.width, row);
    for (let column = 0; column <= world.width; column++) pen.moveTo(column, 0), pen.lineTo(column, world.height);
    pen.stroke();
    pen.globalAlpha = 1;
  };
  // A dot where a cell will be born, a hole in one that will die.
  const hints = (pen, colour) => {
    if (next?.length !== world.cells.length) next = boardOf(world.height, world.width);
    advance(world.cells, next, world);
    pen.fillStyle = colour;
    next.forEach((lives, at) => {
      if (lives === world.cells[at]) return;
      const [x, y] = [(at % world.width) + 0.5, Math.floor(at / world.width) + 0.5];
      pen.globalCompositeOperation = lives ? "source-over" : "destination-out";
      pen.beginPath();
      pen.arc(x, y, lives ? 0.2 : 0.28, 0, 7);
      pen.fill();
    });
    pen.globalCompositeOperation = "source-over";
  };

  whole();
  new ResizeObserver(() => place.clientWidth !== before && whole()).observe(place);
  return { canvas, cursor, view, paint, soon, fit, whole, zoom, pan, follow, cellAt };
}
