// The line from an exhibit's drawing to its kernel: an anywidget that is never displayed. Its comm opens without a view,
// and `wire` puts its model where the drawing of the same key finds it.

const lines = (globalThis.courseLines ??= { models: new Map(), news: new EventTarget() });

function wire(model) {
  const key = model.get("key");
  const tell = () => lines.news.dispatchEvent(new CustomEvent("line", { detail: key }));
  lines.models.set(key, model);
  tell();
  return () => {
    if (lines.models.get(key) !== model) return;
    lines.models.delete(key);
    tell();
  };
}

// While `root` is kept, `message(content, buffers)` is called for whatever the kernel says under `key`, `changed(there)` when
// a line comes or goes. Returns a function that sends a message, and buffers; it gives false where nobody is there. A line
// alone is no kernel: one that was restored from a file, or left by a restart, is deaf.
function connect(root, key, message, changed) {
  let model = null;
  const heard = keptBy(root, message);
  const gone = keptBy(root, () => {
    if (lines.models.get(key) === model) lines.models.delete(key); // the kernel restarted: the model stays in the page
    attach();
  });
  const attach = () => {
    const found = lines.models.get(key) ?? null;
    if (found === model) return;
    model?.off("msg:custom", heard);
    model?.off("comm_live_update", gone);
    model = found;
    model?.on("msg:custom", heard);
    model?.on("comm_live_update", gone);
    changed(model !== null);
  };
  lines.news.addEventListener("line", keptBy(root, (event) => event.detail === key && attach()));
  attach();
  return (content, buffers) => {
    try {
      model?.send(content, undefined, buffers);
    } catch {
      gone(); // it has closed, and JupyterLab is about to say so
    }
    return model !== null;
  };
}
