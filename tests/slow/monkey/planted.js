// Every press of a button does what `data.fault` says; `kept` is the leak.

const kept = (globalThis.plantedLeak ??= []);

export function draw(root, data) {
  const state = exhibit(root, data, () => ({}));
  const faults = {
    throws: () => missing.thing(),
    leaks: () => kept.push(new Array(100_000).fill(0).map(() => ({}))),
    raises: () => state.post({ raise: true }),
    "": () => {},
  };
  for (let one = 0; one < 6; one += 1) state.button(`Press ${one}`, faults[data.fault]);
  state.start();
}
