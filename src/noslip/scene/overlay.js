setInterval(() => {
  const film = document.querySelector("input.mantine-NumberInput-input");
  const time = film ? @start@ + @speed@ * parseFloat(film.value) : NaN;
  document.querySelector("#said .time").textContent = isNaN(time) ? "" : `t = ${
    time.toFixed(@places@)} s`;
}, 100);
