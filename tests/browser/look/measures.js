// What tests measure in a page of exhibits. They run in the page; `measured(page, name, …)` calls one by its name.

// --- axe-core ---

// [rule, impact, html, why] of each thing that axe finds in `inside`, every fold open, but for elements that aren't ours.
async function axeFinds(inside, notOurs) {
  const folds = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folds) fold.open = true;
  const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await painted();
  const found = await axe.run({ include: [[inside]] }, { resultTypes: ["violations"] });
  for (const fold of folds) fold.open = false;
  await painted();
  const ours = (rule, target) => !notOurs[rule] || !document.querySelector(target)?.closest(notOurs[rule]);
  const lines = ({ id, impact, nodes }) => nodes.filter(({ target }) => ours(id, target.at(-1))).map((node) => [id, impact, node.html, node.failureSummary]);
  return found.violations.flatMap(lines);
}

// --- words in drawings, whose contrast axe leaves open ---

const over = (above, below, alpha) => above.map((one, place) => alpha * one + (1 - alpha) * below[place]);

function luminance(colour) {
  const [red, green, blue] = colour.map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

// What is above an exhibit's stage fades nothing.
function opacity(node) {
  return node instanceof Element && !node.matches(".stage, body") ? getComputedStyle(node).opacity * opacity(node.parentNode) : 1;
}

// The colour and the opacity of a node's fill; a hatching counts as its ground; null where there is none.
function painted(node) {
  const look = getComputedStyle(node);
  const pattern = look.fill.match(/url\("?#([^")]+)/);
  const ground = pattern && document.getElementById(pattern[1])?.querySelector("rect");
  if (pattern) return ground ? painted(ground) : null;
  const numbers = (look.fill.startsWith("color(srgb") ? look.fill.slice(10) : look.fill).match(/[\d.e-]+/g)?.map(Number);
  if (!numbers || numbers.length < 3) return null;
  const scale = look.fill.startsWith("color(srgb") ? 255 : 1; // what color-mix gives
  return { colour: numbers.slice(0, 3).map((one) => scale * one), alpha: (numbers[3] ?? 1) * look.fillOpacity * opacity(node) };
}

// The page's colour, and on it the shapes that were painted before the text, where its middle lies.
function groundOf(text, page) {
  const box = text.getBoundingClientRect();
  const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
  let colour = page;
  for (const shape of text.ownerSVGElement.querySelectorAll("rect, circle, path, polygon, ellipse, text")) {
    if (shape === text) break;
    if (shape.tagName === "text" || shape.closest("defs, pattern, marker, clipPath") || !shape.getScreenCTM()) continue;
    const fill = shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse())) && painted(shape);
    if (fill) colour = over(fill.colour, colour, fill.alpha);
  }
  return colour;
}

// A line for each text of a drawing in `inside` that stands out by less than WCAG asks for: 4.5 to 1, 3 for large ones. A
// single letter is a sign, a part of the drawing: 3 to 1. `page`: red, green, blue.
function paleWords(inside, page) {
  const found = [];
  for (const text of document.querySelectorAll(`${inside} svg text`)) {
    const [words, fill] = [text.textContent.trim(), painted(text)];
    if (!words || !fill || !text.getBoundingClientRect().width) continue;
    const [ground, look] = [groundOf(text, page), getComputedStyle(text)];
    const large = parseFloat(look.fontSize) >= (look.fontWeight >= 700 ? 18.66 : 24);
    const ratio = contrast(over(fill.colour, ground, fill.alpha), ground);
    const where = text.closest("section, .jp-Cell")?.id;
    if (ratio < (large || words.length === 1 ? 3 : 4.5)) found.push(`${where}: "${words}" stands out ${ratio.toFixed(2)} : 1`);
  }
  return found;
}

// --- the keyboard ---

// The names of all that the Tab key stops at, in the document's order: of a group of radio buttons the checked one, or the
// first.
function controls() {
  const stops = (radio) => {
    const group = [...document.getElementsByName(radio.name)].filter((one) => !one.disabled);
    return radio === (group.find((one) => one.checked) ?? group[0]);
  };
  const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")];
  const reachable = (one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility();
  window.listed = all.filter((one) => reachable(one) && (one.type !== "radio" || stops(one)));
  document.activeElement.blur();
  getSelection().removeAllRanges();
  return listed.map((one) => `${one.closest("section").id}: ${one.ariaLabel || one.textContent || one.type}`);
}

// How thick in pixels what marks the focus is: an outline round a control or its label, or a line of a drawing.
function ring(one) {
  const outline = (look) => (look.outlineStyle === "solid" ? parseFloat(look.outlineWidth) : 0);
  const line = (part) => parseFloat(getComputedStyle(part).strokeWidth) || 0;
  const lines = one instanceof SVGElement ? [one, ...one.querySelectorAll("rect, circle, path")].map(line) : [];
  return Math.max(...[one, one.parentElement].map((part) => outline(getComputedStyle(part))), ...lines);
}

const rings = () => listed.map(ring);

// The place in the list of what has the focus, its ring, its top and its bottom in pixels of the page.
function focused() {
  const [one, box] = [document.activeElement, document.activeElement.getBoundingClientRect()];
  return [listed.indexOf(one), ring(one), box.top + scrollY, box.bottom + scrollY];
}

// A line for each button that can't be pressed, and has no words that say why: a reader sees none, or a screen reader has none.
function unexplained() {
  const off = [...document.querySelectorAll('button:is(:disabled, [aria-disabled="true"])')].filter((one) => one.checkVisibility());
  const why = (one) => document.getElementById(one.getAttribute("aria-describedby"));
  const said = (one) => !one.disabled && why(one)?.checkVisibility() && why(one).textContent.trim().length > 8;
  return [`${off.length} disabled`, ...off.filter((one) => !said(one)).map((one) => `${one.closest("section")?.id}: ${one.textContent}`)];
}

// The text alternative of every picture in `inside` that has one; "" for one that should, and has none.
function alternatives(inside) {
  const pictures = [...document.querySelectorAll(`${inside} :is(svg[role="img"], img)`)];
  return pictures.map((one) => (one.getAttribute("aria-label") ?? one.getAttribute("alt") ?? "").trim());
}

// --- sizes ---

// A line for each text in `inside` that the page shows in letters smaller than `least` pixels; exponents may be.
function smallWords(inside, least) {
  const has = (one) => [...one.childNodes].some((part) => part.nodeType === Node.TEXT_NODE && part.data.trim());
  const shown = (one) => one.checkVisibility() && !one.closest("script, style, option, tspan") && has(one);
  const scale = ({ a, b }) => Math.hypot(a, b); // of a drawing that is turned, too
  const size = (one) => parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM ? scale(one.getScreenCTM()) : 1);
  const small = [...document.querySelectorAll(`${inside} *`)].filter((one) => shown(one) && size(one) < least);
  return small.map((one) => `${one.closest("section")?.id}: ${one.textContent.trim().slice(0, 40)}: ${size(one).toFixed(1)} px`);
}

// A line for each section whose contents are wider than it is.
function tooWide() {
  const wider = [...document.querySelectorAll("section")].filter((one) => one.scrollWidth > one.clientWidth);
  return wider.map((one) => `${one.id}: ${one.scrollWidth} px`);
}

// A line for each text of a drawing that its edge cuts off.
function cutWords(inside) {
  const found = [];
  for (const image of document.querySelectorAll(`${inside} svg`)) {
    const edge = image.getBoundingClientRect();
    for (const text of getComputedStyle(image).overflow === "hidden" ? image.querySelectorAll("text") : []) {
      const box = text.getBoundingClientRect();
      const out = Math.max(edge.left - box.left, box.right - edge.right, edge.top - box.top, box.bottom - edge.bottom);
      if (box.width && out > 1.8) /* of a letter's box, not of its ink */ found.push(`${text.closest("section, .jp-Cell")?.id}: "${text.textContent}" by ${out.toFixed(1)} px`);
    }
  }
  return found;
}

// A line for each control in `inside` that is lower or narrower than `least` pixels: too small for a finger.
function smallTargets(inside, least) {
  const shown = [...document.querySelectorAll(`${inside} :is(button, input, select, summary)`)].filter((one) => one.checkVisibility());
  const box = (one) => (one.type === "radio" ? one.closest("label") : one).getBoundingClientRect();
  const small = shown.filter((one) => Math.min(box(one).width, box(one).height) < least);
  return small.map((one) => `${one.ariaLabel ?? one.textContent}: ${box(one).width.toFixed(0)} x ${box(one).height.toFixed(0)} px`);
}

// --- bets ---

// What a reader sees of each cell of a notebook's page: its words, what its pictures are said to be, the names of its bets,
// and the data of its answers, which are folded.
const cellsInSight = () => [...document.querySelectorAll(".jp-Cell")].map((cell) => {
  const shown = [...cell.querySelectorAll(".jp-RenderedMarkdown, .jp-OutputArea-output")].map((one) => one.innerText);
  const pictures = [...cell.querySelectorAll("[role=img], [role=application], img")].filter((one) => one.checkVisibility());
  const alternatives = pictures.map((one) => one.getAttribute("aria-label") ?? one.getAttribute("alt") ?? "");
  const stored = (one) => JSON.parse(one.closest(".exhibit").querySelector("script[type='application/json']").textContent);
  const bets = [...cell.querySelectorAll(".stage:has(.question)")].map((one) => stored(one).name);
  return { words: [...shown, ...alternatives].join("\n"), bets, answers: [...cell.querySelectorAll("[data-answers]")].map(stored) };
});
