// Draws the exhibits of the page whose files are there: those that outputs carry, and those that a kernel gave. Until
// then an exhibit shows its still. Each output calls it; of several in a page, the last one serves all.
globalThis.courseFiles ??= new Map(); // label -> text
globalThis.courseRoots ??= new Map(); // number -> the exhibit that a script is about to draw

globalThis.courseDraw = () => {
  for (const one of document.querySelectorAll("script[data-file]")) courseFiles.set(one.dataset.file, one.textContent);
  for (const root of document.querySelectorAll("[data-files]:not([data-drawing])")) {
    const labels = root.dataset.files.split(" ");
    if (!labels.every((label) => courseFiles.has(label))) continue;
    const isStyle = (label) => label.includes(".css#");
    labels.filter(isStyle).forEach(style);
    drawing(root, labels.filter((label) => !isStyle(label)));
  }
};

function style(label) {
  if ([...document.head.querySelectorAll("style")].some((one) => one.dataset.style === label)) return;
  const one = document.createElement("style");
  one.textContent = courseFiles.get(label);
  one.dataset.style = label;
  document.head.append(one);
}

// A module of its own for each exhibit, as an output's own script would be.
function drawing(root, labels) {
  const number = (globalThis.courseDrawn = (globalThis.courseDrawn ?? 0) + 1);
  courseRoots.set(number, root);
  root.dataset.drawing = number;
  const last = `{
    const root = courseRoots.get(${number});
    courseRoots.delete(${number});
    root.dataset.ready = "";
    draw(root.querySelector(".stage"), JSON.parse(root.querySelector('script[type="application/json"]').textContent));
  }`;
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = [...labels.map((label) => courseFiles.get(label)), last].join("\n");
  document.head.append(script);
  script.remove();
}

courseDraw();
