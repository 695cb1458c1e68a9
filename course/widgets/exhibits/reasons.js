// Why a button can't be pressed, in words beside it: reasons(note) gives unable(one, why), which disables the button `one`
// for a reason, and enables it for "". The reasons stand in `note`, a line for the buttons that share one, and a screen
// reader says them with the button. It keeps its place in the order of Tab; `button` of controls.js lets no press through.

function reasons(note) {
  const whys = new Map(); // button -> why, of those that can't be pressed
  const named = (ones) => (ones.length > 3 ? `These ${ones.length} buttons` : ones.map((one) => one.textContent).join(", "));
  const lineOf = (place) => {
    const line = note.children[place] ?? note.appendChild(document.createElement("span"));
    line.id ||= `why-${Math.random().toString(36).slice(2, 10)}`;
    return line;
  };
  const show = () => {
    const different = [...new Set(whys.values())];
    different.forEach((why, place) => {
      const [line, ones] = [lineOf(place), [...whys.keys()].filter((one) => whys.get(one) === why)];
      const words = `${named(ones)}: ${why}`;
      if (line.textContent !== words) line.textContent = words;
      for (const one of ones) one.setAttribute("aria-describedby", line.id);
    });
    while (note.children.length > different.length) note.lastChild.remove();
    note.hidden = different.length === 0;
  };
  return (one, why) => {
    for (const other of whys.keys()) if (!other.isConnected) whys.delete(other);
    if (why) whys.set(one, why);
    else whys.delete(one);
    one.setAttribute("aria-disabled", String(why !== ""));
    if (!why) one.removeAttribute("aria-describedby");
    show();
  };
}
