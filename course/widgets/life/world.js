// The board that is played: its cells, its generation, what was seen since it began, and whose edition of it this is.

const MOST_POINTS = 600; // of the population curve; then every second one goes

function lifeWorld({ edition, pattern }) {
  let [spare, seen] = [null, memory()];
  const world = { edition, pattern, height: 0, width: 0, points: [], origin: null, ahead: false };
  const note = () => {
    seen.note(world.generation, world.cells);
    world.points.push([world.generation, world.population]);
    const last = world.points.length - 1;
    if (last > MOST_POINTS) world.points = world.points.filter((_, place) => place % 2 === 0 || place === last);
  };
  return Object.assign(world, {
    cycle: () => seen.found(),
    // The board, or the next one of those that come: { height, width, generation, population }, and bits.
    become({ height, width, generation, population }, bits) {
      if (height !== world.height || width !== world.width) world.sized(height, width);
      unpack(bits, world.cells);
      [world.generation, world.population] = [generation, population ?? count(world.cells)];
      note();
    },
    // An empty board of another size; what is seen of it is noted `afresh`.
    sized(height, width) {
      [world.height, world.width, world.generation] = [height, width, 0];
      [world.cells, spare] = [boardOf(height, width), boardOf(height, width)];
    },
    // It is another board now, not the next of the last: what was seen is of no use. Unless `goesOn`, it begins here.
    afresh(goesOn = false) {
      [seen, world.points, world.population] = [memory(), [], count(world.cells)];
      const { height, width, generation } = world;
      if (!goesOn) world.origin = { height, width, generation, bits: pack(world.cells) };
      note();
    },
    generationOn() {
      world.population = advance(world.cells, spare, world);
      [world.cells, spare, world.generation, world.ahead] = [spare, world.cells, world.generation + 1, true];
      note();
    },
    // Puts cells of another board into this one's middle.
    put({ height, width, cells }) {
      const [down, right] = [Math.floor((world.height - height) / 2), Math.floor((world.width - width) / 2)];
      world.cells.fill(0);
      for (let row = Math.max(0, -down); row < Math.min(height, world.height - down); row++) {
        for (let column = Math.max(0, -right); column < Math.min(width, world.width - right); column++) {
          world.cells[(row + down) * world.width + column + right] = cells[row * width + column];
        }
      }
    },
  });
}
