// The page's end of every line. A cell is run as JupyterLab shows it: its scripts are made anew, or they would not run.

const monkey = (globalThis.monkey = { asked: [], models: new Map() });
const view = (text) => new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
const text = (buffer) => btoa([...new Uint8Array(buffer.buffer ?? buffer)].map((one) => String.fromCharCode(one)).join(""));
const news = (key) => globalThis.courseLines.news.dispatchEvent(new CustomEvent("line", { detail: key }));
monkey.open = (key) => {
  const heard = {};
  const send = (what, _, buffers) => monkey.asked.push([key, what, (buffers ?? []).map(text)]);
  const model = { get: () => key, on: (what, call) => (heard[what] = call), off: (what) => delete heard[what], send, heard };
  monkey.models.set(key, model);
  globalThis.courseLines.models.set(key, model);
  news(key);
};
monkey.tell = (told) => told.forEach(([key, message, buffers]) => monkey.models.get(key)?.heard["msg:custom"]?.(message, buffers.map(view)));
monkey.gone = (key) => {
  const model = monkey.models.get(key);
  monkey.models.delete(key);
  if (model) model.heard["comm_live_update"]?.();
};
monkey.show = async (place, html, key) => {
  const cell = document.querySelectorAll("section")[place];
  cell.innerHTML = html;
  for (const old of cell.querySelectorAll("script")) {
    const one = document.createElement("script");
    for (const { name, value } of old.attributes) one.setAttribute(name, value);
    one.textContent = old.textContent;
    old.replaceWith(one);
  }
  await new Promise((done) => setTimeout(done, 0));
  if (key) {
    for (let tries = 0; !globalThis.courseLines && tries < 200; tries += 1) await new Promise((done) => setTimeout(done, 10));
    monkey.open(key);
  }
};
