// Mouse, fingers and keys on the board: they draw, move and zoom, and say what lies under them.

const KEYS =
  "Arrow keys move the cursor, Enter draws or erases a cell, D draws along the cursor's way, Space steps, P plays, " +
  "plus and minus zoom, 0 shows the whole board, Shift with arrows moves it.";
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// `edited()` is called after each stroke, `others` are more keys and what they do, `tell(text, aloud)` gets words about
// the cell under the pointer or, aloud, the cursor. Gives { drawing(), moves }: with `moves` one pointer moves the board.
function lifeHand(shown, world, { edited, others, tell }) {
  const { canvas, cursor, view } = shown;
  const hand = { moves: false, drawing: () => stroke !== null };
  const pointers = new Map();
  let [stroke, held] = [null, null]; // held: what the cursor draws where it goes
  canvas.setAttribute("aria-label", `Board of Life. ${KEYS}`);

  const about = (row, column, aloud) => {
    const lives = world.cells[row * world.width + column];
    const around = neighbours(world.cells, world, row, column);
    const then = world.lives[10 * lives + around + lives];
    const fate = then ? (lives ? "it survives" : "one is born") : lives ? "it dies" : "it stays dead";
    tell(`Row ${row}, column ${column}: ${lives ? "alive" : "dead"}, ${around} of 8 neighbours live, so ${fate}.`, aloud);
  };
  const onBoard = ([row, column]) => row >= 0 && column >= 0 && row < world.height && column < world.width;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  // All cells of the line between two, so that a quick hand leaves no gaps.
  const line = ([row, column], [toRow, toColumn]) => {
    const steps = Math.max(Math.abs(toRow - row), Math.abs(toColumn - column), 1);
    for (let step = 0; step <= steps; step++) {
      const cell = [row + ((toRow - row) * step) / steps, column + ((toColumn - column) * step) / steps].map(Math.round);
      if (onBoard(cell)) world.cells[cell[0] * world.width + cell[1]] = stroke.alive;
    }
    stroke.last = [toRow, toColumn];
  };
  const pinch = () => {
    const [[x, y], [toX, toY]] = pointers.values();
    return { x: (x + toX) / 2, y: (y + toY) / 2, long: Math.hypot(toX - x, toY - y) || 1 };
  };

  canvas.onpointerdown = (event) => {
    if (event.button > 1) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    const cell = shown.cellAt(at(event));
    pointers.set(event.pointerId, at(event));
    if (pointers.size > 1 && stroke) {
      world.cells.set(stroke.were); // two fingers move the board: the first of them drew nothing
      stroke = null;
    } else if (pointers.size === 1 && !hand.moves && !event.shiftKey && event.button === 0 && onBoard(cell)) {
      [cursor.row, cursor.column] = cell;
      stroke = { alive: 1 - world.cells[cell[0] * world.width + cell[1]], were: world.cells.slice() };
      line(cell, cell);
      about(...cell, false);
    }
    shown.paint();
  };
  canvas.onpointermove = (event) => {
    const [point, last, was] = [at(event), pointers.get(event.pointerId), pointers.size === 2 ? pinch() : null];
    if (!last) return onBoard(shown.cellAt(point)) && about(...shown.cellAt(point), false);
    pointers.set(event.pointerId, point);
    if (was) {
      const now = pinch();
      shown.pan(was.x - now.x, was.y - now.y);
      shown.zoom(now.long / was.long, [now.x, now.y]);
    } else if (stroke) line(stroke.last, shown.cellAt(point));
    else if (pointers.size === 1) shown.pan(last[0] - point[0], last[1] - point[1]);
    shown.paint();
  };
  canvas.onpointerup = canvas.onpointercancel = (event) => {
    pointers.delete(event.pointerId);
    if (!stroke) return;
    stroke = null;
    edited();
  };
  // a wheel alone scrolls the page
  canvas.onwheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    shown.zoom(Math.exp(-event.deltaY / 300), at(event));
  };

  const write = (alive) => {
    world.cells[cursor.row * world.width + cursor.column] = alive;
    edited();
  };
  const moveCursor = ([down, right]) => {
    cursor.row = (cursor.row + down + world.height) % world.height;
    cursor.column = (cursor.column + right + world.width) % world.width;
    if (held) write(held.alive);
    shown.follow();
  };
  const penDown = (here) => {
    held = held ? null : { alive: 1 - here };
    if (held) write(held.alive);
  };
  const around = () => [(cursor.column + 0.5 - view.x) * view.size, (cursor.row + 0.5 - view.y) * view.size];
  const mine = (key, here) => ({
    Enter: () => write(1 - here), d: () => penDown(here), 0: shown.whole, ...others,
    "+": () => shown.zoom(1.5, around()), "=": () => shown.zoom(1.5, around()), "-": () => shown.zoom(1 / 1.5, around()),
  })[key];
  canvas.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const arrow = ARROWS[key];
    const does = mine(key, world.cells[cursor.row * world.width + cursor.column]);
    if (!arrow && !does) return;
    event.preventDefault();
    if (does) does();
    else if (event.shiftKey) shown.pan((arrow[1] * view.wide) / 8, (arrow[0] * view.tall) / 8);
    else moveCursor(arrow);
    shown.paint();
    about(cursor.row, cursor.column, true);
  };
  canvas.onfocus = shown.paint;
  canvas.onblur = () => {
    held = null;
    shown.paint();
  };
  return hand;
}
