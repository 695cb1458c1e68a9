// A training while it runs, and when it is over: losses, how late gradients were, updates a second. The kernel tells more
// about four times a second; its Stop button is the exhibits' own.

export function draw(root, data) {
  const paint = (answer) => {
    drawn.forEach((panel) => panel.paint(answer));
    drawn[1].image.setAttribute("aria-label", lateInWords(answer.staleness));
    drawn[2].image.setAttribute("aria-label", `Updates a second: ${answer.rates.at(-1)?.[1] ?? "not known yet"} at the last look.`);
    return { alt: `${answer.figure}; ${answer.small}. ${lossInWords(answer.losses)}` };
  };
  const state = exhibit(root, data, paint);
  const drawn = panels(state, lossPanel, latePanel, ratePanel);
  state.start();
}
