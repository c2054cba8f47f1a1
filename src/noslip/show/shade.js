{
  const box = document.currentScript.parentElement;
  const shade = () => {
    const found = getComputedStyle(box).color.match(/^rgba?\((\d+), (\d+), (\d+)/);
    if (found) box.style.colorScheme = +found[1] + +found[2] + +found[3] > 382 ? "dark" : "light";
  };
  shade();
  box.addEventListener("transitionend", shade);
}
