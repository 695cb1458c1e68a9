// Scales, numbers in few letters, and nodes of SVG: what pictures of exhibits and of bets are made of.

const svg = (name, attributes = {}, inside = "") => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (Array.isArray(inside)) one.append(...inside);
  else one.textContent = inside;
  return one;
};

// From numbers `from` … `to` to pixels `at` … `till`; `invert` is the way back, `ticks(most, least)` gives round numbers, `least` or more
// from each to the next.
function linear(from, to, at, till) {
  const scale = (value) => at + ((value - from) / (to - from || 1)) * (till - at);
  scale.invert = (pixel) => from + ((pixel - at) / (till - at)) * (to - from);
  scale.ticks = (most = 6, least = 0) => {
    const rough = Math.max((to - from || 1) / most, least);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * (1 - 1e-9));
    const first = Math.ceil(from / step - 1e-9);
    return [...Array(Math.floor(to / step + 1e-9) - first + 1).keys()].map((place) => +((first + place) * step).toPrecision(12));
  };
  return scale;
}

// The same by powers of ten; where there are few, ticks stand between them, too.
function logarithmic(from, to, at, till) {
  const powers = linear(Math.log10(from), Math.log10(to), at, till);
  const scale = (value) => powers(Math.log10(value));
  scale.invert = (pixel) => 10 ** powers.invert(pixel);
  scale.ticks = (most = 8) => {
    const [first, last] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
    const step = Math.max(1, Math.ceil((last - first) / most));
    const found = [...Array(Math.max(0, Math.floor((last - first) / step) + 1)).keys()].map((place) => Number(`1e${first + place * step}`));
    if (found.length > 2) return found;
    const between = [first - 1, ...found.map((_, place) => first + place), last].flatMap((power) => [1, 2, 5].map((times) => Number(`${times}e${power}`)));
    return [...new Set(between)].filter((value) => from * (1 - 1e-9) <= value && value <= to * (1 + 1e-9));
  };
  return scale;
}

// A number in three digits with the letter of its thousands.
function short(value) {
  const size = Math.abs(value);
  const [letter, unit] = [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]].find(([, one]) => size >= one) ?? ["", 1];
  return `${+(value / unit).toPrecision(3)}${letter && ` ${letter}`}`;
}

// keptBy(root, call) gives `call` to what outlives an exhibit (the window, a media query, a kernel's model): only `root` keeps
// it, so that a drawing whose cell has been run again is let go, and one that is out of the page for a while is not. One
// function for the whole page: what it makes would keep the script that it is of.
const keptBy = (globalThis.courseKeptBy ??= (root, call) => {
  (root.courseCalls ??= []).push(call);
  const kept = new WeakRef(call);
  return (...given) => kept.deref()?.(...given);
});

// Give a picture its size in pixels of the page.
function sized(image, wide, tall) {
  for (const [name, value] of Object.entries({ width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}` })) image.setAttribute(name, value);
}

// Call `paint` when the box has another width: when it is opened, turned, or put into the page.
function onWidth(box, paint) {
  let before = box.clientWidth;
  new ResizeObserver(() => box.clientWidth !== before && paint((before = box.clientWidth))).observe(box);
}
