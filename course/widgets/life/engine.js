// Life in the page: a rule, one generation of a board, its bits as Python packs them, and whether it was there before.
// A board is bytes of 0 and 1, row by row. The kernel's engines give the same cells: a test compares them.

const RULES = [/^B([0-8]*)\/?S([0-8]*)$/, /^S([0-8]*)\/?B([0-8]*)$/, /^([0-8]*)\/([0-8]*)$/];

// The rule that a text names, as `course.life.Rule` reads it, or null: its name, and whether a cell lives next, by
// 10 × (does it live?) + the living of the nine cells around it and itself.
export function ruleOf(text) {
  const squeezed = text.toUpperCase().replaceAll(" ", "");
  const form = RULES.findIndex((one) => one.test(squeezed));
  if (form < 0) return null;
  const counts = RULES[form].exec(squeezed).slice(1);
  const [birth, survive] = (form ? counts.reverse() : counts).map((digits) => [...new Set(digits)].sort());
  const lives = new Uint8Array(20);
  for (const count of birth) lives[+count] = 1;
  for (const count of survive) lives[10 + +count + 1] = 1;
  return { name: `B${birth.join("")}/S${survive.join("")}`, lives };
}

// An empty board; its bytes can be read as words of four, and those of eight cells written at once.
export const boardOf = (height, width) => new Uint8Array(new ArrayBuffer(8 * Math.ceil((height * width) / 8)), 0, height * width);

// Writes the generation after `cells` into `next`, and returns how many live in it.
export function advance(cells, next, { height, width, lives, wrap }) {
  const outside = wrap ? null : new Uint8Array(width);
  const rowAt = (row) => {
    const inside = row >= 0 && row < height;
    return !inside && !wrap ? outside : cells.subarray(((row + height) % height) * width, (((row + height) % height) + 1) * width);
  };
  let population = 0;
  for (let row = 0; row < height; row++) {
    const [above, here, below, start] = [rowAt(row - 1), rowAt(row), rowAt(row + 1), row * width];
    const first = above[0] + here[0] + below[0];
    let [left, middle] = [wrap ? above[width - 1] + here[width - 1] + below[width - 1] : 0, first];
    for (let column = 0, on = 1; on < width; column = on++) {
      const right = above[on] + here[on] + below[on];
      population += next[start + column] = lives[10 * here[column] + left + middle + right];
      left = middle;
      middle = right;
    }
    population += next[start + width - 1] = lives[10 * here[width - 1] + left + middle + (wrap ? first : 0)];
  }
  return population;
}

// How many of the eight neighbours of a cell live.
export function neighbours(cells, { height, width, wrap }, row, column) {
  let living = 0;
  for (const down of [-1, 0, 1]) {
    for (const right of [-1, 0, 1]) {
      const [y, x] = [row + down, column + right];
      const inside = y >= 0 && y < height && x >= 0 && x < width;
      if ((down || right) && (inside || wrap)) living += cells[((y + height) % height) * width + ((x + width) % width)];
    }
  }
  return living;
}

// The eight cells of each byte, as two words of four.
const EIGHT = Uint8Array.from({ length: 256 * 8 }, (_, at) => (at >> 3 >> (7 - (at & 7))) & 1);
const FOUR = new Uint32Array(EIGHT.buffer);
const GATHER = 2 ** 31 + 2 ** 22 + 2 ** 13 + 2 ** 4; // where a word's first byte is its lowest, as on every browser's machine

// Bits, eight cells a byte, the first of them the highest bit: into a board of `boardOf`, and back.
export function unpack(bytes, cells) {
  const words = new Uint32Array(cells.buffer);
  for (let at = 0; 2 * at < words.length; at++) {
    words[2 * at] = FOUR[2 * bytes[at]];
    words[2 * at + 1] = FOUR[2 * bytes[at] + 1];
  }
  return cells;
}

// A product moves the bits of a word's four cells side by side, to its top: no two of its terms meet in one bit.
export function pack(cells) {
  const words = new Uint32Array(cells.buffer);
  const bytes = new Uint8Array(Math.ceil(cells.length / 8));
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = ((Math.imul(words[2 * at], GATHER) >>> 28) << 4) | (Math.imul(words[2 * at + 1], GATHER) >>> 28);
  }
  return bytes;
}

// How many cells of a board of `boardOf` live: the highest byte of the product is the sum of a word's four.
export function count(cells) {
  const words = new Uint32Array(cells.buffer);
  let living = 0;
  for (let at = 0; at < words.length; at++) living += Math.imul(words[at], 0x01010101) >>> 24;
  return living;
}

// Each cell lives with this chance: sixteen bits of one draw decide a cell, the next sixteen another. The draws are those
// of an xorshift generator (Marsaglia, 2003), in a fraction of the time that Math.random takes.
export function sprinkle(cells, chance) {
  const least = Math.round(chance * 65536);
  let drawn = (Math.random() * 2 ** 32) | 1; // never 0, of which all others would be 0
  for (let at = 0; at < cells.length; at += 2) {
    drawn ^= drawn << 13;
    drawn ^= drawn >>> 17;
    drawn ^= drawn << 5;
    cells[at] = ((drawn & 65535) - least) >>> 31; // the sign: a branch would be guessed wrong every third time
    if (at + 1 < cells.length) cells[at + 1] = ((drawn >>> 16) - least) >>> 31;
  }
}

// 53 bits that two boards share by accident once in 10¹⁵ pairs.
function fingerprint(cells) {
  const words = new Uint32Array(cells.buffer);
  let [one, other] = [0x811c9dc5, 0x2545f491];
  for (let at = 0; at < words.length; at++) {
    one = Math.imul(one ^ words[at], 0x9e3779b1);
    one ^= one >>> 15;
    other = Math.imul(other + words[at], 0x85ebca6b);
    other ^= other >>> 13;
  }
  return (one >>> 0) * 2 ** 21 + (other >>> 11);
}

// Notes boards by generation, and finds the first that comes back: { start, period, exact }. Where generations were left
// out, the period found may be several of them, and the start a later one.
export function memory(most = 200_000) {
  let [seen, last, exact, found] = [new Map(), null, true, null];
  return {
    note(generation, cells) {
      if (found || seen.size >= most || generation === last) return found;
      exact &&= last === null || generation === last + 1;
      const [print, before] = [fingerprint(cells), last];
      last = generation;
      if (seen.has(print)) found = { start: seen.get(print), period: generation - seen.get(print), exact };
      else if (before === null || generation > before) seen.set(print, generation);
      return found;
    },
    found: () => found,
  };
}
