// The sliders of ipywidgets have no name for a screen reader, and tell it an exponent or a place in a list. They get
// the label beside them as their name, and the number that is shown as their value.

function set(element, name, value) {
  if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function nameAll(box) {
  for (const handle of box.querySelectorAll('[role="slider"]')) {
    const slider = handle.closest(".widget-slider");
    const label = slider?.querySelector(".widget-label")?.textContent.trim();
    if (!label) continue;
    const readout = slider.querySelector(".widget-readout");
    set(handle, "aria-label", label);
    if (readout) set(handle, "aria-valuetext", readout.textContent.trim());
    if (readout?.isContentEditable) {
      set(readout, "role", "textbox");
      set(readout, "aria-label", `${label}, typed`);
    }
  }
}

function render({ el }) {
  el.style.display = "none";
  let waiting = 0;
  const observer = new MutationObserver(() => nameAll(el.closest(".widget-vbox") ?? el));
  const begin = () => {
    const box = el.isConnected && el.closest(".widget-vbox");
    if (!box) {
      waiting = requestAnimationFrame(begin); // not on the page yet
      return;
    }
    nameAll(box);
    const attributeFilter = ["aria-valuetext"]; // the slider writes its own at each move
    observer.observe(box, { childList: true, subtree: true, characterData: true, attributeFilter });
  };
  begin();
  return () => {
    cancelAnimationFrame(waiting);
    observer.disconnect();
  };
}

export default { render };
