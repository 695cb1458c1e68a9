// Gives a kernel's files to the page: an anywidget that is never displayed.
function give(model) {
  for (const [label, text] of Object.entries(model.get("files"))) courseFiles.set(label, text);
  courseDraw();
}
