"use strict";
// Draws the plots of the page, switches between their choices, and filters the sample responses.
(async () => {
  const json = (id) => JSON.parse(document.getElementById(id).textContent);
  const status = (text) => document.querySelectorAll(".plot").forEach((place) => (place.textContent = text));

  document.querySelectorAll("[data-filter]").forEach((row) => {
    row.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      press(row, button);
      const wanted = [...document.querySelectorAll("[data-filter]")].map((other) => [
        other.dataset.filter,
        other.querySelector("[aria-pressed=true]").value,
      ]);
      document.querySelectorAll(".sample").forEach((sample) => {
        sample.hidden = !wanted.every(([key, value]) => !value || sample.dataset[key] === value);
      });
      const count = document.querySelectorAll(".sample:not([hidden])").length;
      document.getElementById("samples-shown").textContent = `${count} shown`;
    });
  });

  const plots = json("plots");
  if (!plots.length) return;
  if (typeof DecompressionStream === "undefined") {
    status("This browser is too old for the interactive plots; the tables below and the PNG files have the same numbers.");
    return;
  }
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);

  // Named one by one: the default bar also has buttons that send a plot elsewhere.
  const config = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "resetScale2d"]] };
  for (const plot of plots) {
    const place = document.getElementById(`plot-${plot.name}`);
    const chosen = [...plot.choices[0].labels];
    const draw = () => {
      const choice = plot.choices.find((one) => one.labels.every((label, i) => label === chosen[i]));
      place.dataset.shown = choice.labels.join(" / ");
      return Plotly.react(place, choice.data, choice.layout, config);
    };
    chosen.forEach((_, i) => {
      const labels = [...new Set(plot.choices.map((choice) => choice.labels[i]))];
      if (labels.length < 2) return;
      const row = document.createElement("div");
      row.className = "choices";
      for (const label of labels) {
        const button = document.createElement("button");
        button.textContent = label;
        button.setAttribute("aria-pressed", label === chosen[i]);
        button.addEventListener("click", () => {
          chosen[i] = label;
          press(row, button);
          draw();
        });
        row.append(button);
      }
      place.before(row);
    });
    place.textContent = "";
    await draw();
  }
  document.body.dataset.drawn = plots.length;

  function press(row, button) {
    row.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", other === button));
  }
})();
