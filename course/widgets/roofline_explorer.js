// The page's half of RooflineExplorer's picture: shows what Python drew, and tells Python which size the reader chose.

function render({ model, el }) {
  const root = document.createElement("div");
  root.tabIndex = 0;
  root.setAttribute("role", "slider");
  root.setAttribute("aria-label", "matrix size; arrow keys or dragging change it");
  root.style.touchAction = "none"; // a finger drags the mark, not the page
  // JupyterLab would take keys for its own shortcuts; it looks for this mark on the element with the focus
  root.dataset.lmSuppressShortcuts = "true";
  el.append(root);

  const stops = () => [...root.querySelectorAll(".stop")];
  const sizes = () => stops().map((stop) => +stop.dataset.size);
  const choose = (size) => {
    if (size === undefined || size === model.get("size")) return;
    model.set("size", size);
    model.save_changes();
  };

  // The mark follows the pointer from stop to stop at once; Python's words and numbers come a moment later.
  const nearest = (event) => {
    const svg = root.querySelector("svg");
    const there = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const place = (part) => [+part.getAttribute("cx"), +part.getAttribute("cy")];
    const distance = (stop) => Math.hypot(place(stop)[0] - there.x, place(stop)[1] - there.y);
    const stop = stops().sort((a, b) => distance(a) - distance(b))[0];
    const [x, y] = place(stop);
    const handle = root.querySelector(".handle");
    handle.setAttribute("cx", x);
    handle.setAttribute("cy", y);
    return +stop.dataset.size;
  };
  let dragging = false;
  root.onpointerdown = (event) => {
    if (!event.target.closest("svg")) return;
    dragging = true;
    root.setPointerCapture(event.pointerId);
    root.focus();
    choose(nearest(event));
    event.preventDefault();
  };
  root.onpointermove = (event) => dragging && choose(nearest(event));
  root.onpointerup = root.onpointercancel = () => (dragging = false);
  root.onkeydown = (event) => {
    const all = sizes();
    const at = all.indexOf(model.get("size"));
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: all.length - 1 };
    if (!(event.key in to)) return;
    choose(all[to[event.key]]);
    event.preventDefault();
    event.stopPropagation();
  };

  const draw = () => {
    root.innerHTML = model.get("value");
    const svg = root.querySelector("svg");
    if (svg) svg.style.cursor = "grab";
    root.setAttribute("aria-valuetext", `n = ${model.get("size")}`);
    root.setAttribute("aria-valuenow", model.get("size"));
    root.setAttribute("aria-valuemin", sizes()[0] ?? 0);
    root.setAttribute("aria-valuemax", sizes().at(-1) ?? 0);
  };
  model.on("change:value", draw);
  draw();
  return () => model.off("change:value", draw);
}

export default { render };
