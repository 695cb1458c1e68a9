// An exhibit as a view of its widget: what a cell's output has as HTML, drawn as soon as it is in the page.
function render({ model, el }) {
  el.innerHTML = model.get("html");
  const draw = () => (el.isConnected ? courseDraw() : requestAnimationFrame(draw));
  draw();
}
