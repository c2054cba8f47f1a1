{
  const shade = matchMedia("(prefers-color-scheme: dark)");
  if (shade.matches) {
    window.__VISER_EMBED_DATA__ = "@data@";
    window.__VISER_EMBED_CONFIG__ = { darkMode: true };
  }
  shade.addEventListener("change", () => location.reload());
}
