// Plays the film called NAME: moves the sheet of frames behind its window. No motion until asked; none where the
// reader's system asks for less of it.
// As in scales.js of the exhibits: what outlives a film does not keep it.
globalThis.courseKeptBy ??= (root, call) => {
  (root.courseCalls ??= []).push(call);
  const kept = new WeakRef(call);
  return (...given) => kept.deref()?.(...given);
};
{
  const film = document.querySelector("#NAME:not([data-ready])");
  if (film) {
    const { columns, living, seconds, first, right, down } = SETTINGS;
    const find = (what) => film.querySelector(what);
    const [image, slider, play] = [find("img"), find("input"), find(".play")];
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let timer = null;

    const last = first + living.length - 1;
    const show = (generation) => {
      const now = Math.max(first, Math.min(last, generation));
      const frame = now - first;
      image.style.left = `${-(frame % columns) * right}px`;
      image.style.top = `${-Math.floor(frame / columns) * down}px`;
      slider.value = now;
      find(".now").textContent = now;
      find(".living").textContent = living[frame];
    };
    const pause = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    };
    const start = () => {
      if (+slider.value === last) show(first);
      play.textContent = "Pause";
      timer = setInterval(() => {
        if (!film.isConnected || +slider.value === last) pause();
        else show(+slider.value + 1);
      }, seconds * 1000);
    };
    const step = (by) => {
      pause();
      show(+slider.value + by);
    };

    film.dataset.ready = "";
    // JupyterLab would take the arrow keys for its own shortcuts; it looks for this mark on the element with the focus
    for (const control of film.querySelectorAll("button, input")) control.dataset.lmSuppressShortcuts = "true";
    play.onclick = () => (timer ? pause() : start());
    find(".back").onclick = () => step(-1);
    find(".on").onclick = () => step(1);
    slider.oninput = () => step(0);
    const calm = () => {
      play.hidden = still.matches;
      if (still.matches) pause();
    };
    still.addEventListener("change", globalThis.courseKeptBy(film, calm)); // the query outlives a film whose cell is run again
    calm();
    find(".bar").hidden = false; // controls appear only where a script can answer them
    show(first);
  }
}
