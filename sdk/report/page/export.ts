const painted = ["fill", "stroke"];

/** Saves a chart as an SVG file that stands on its own, with the page's present colours. */
export function saveSvg(svg: SVGSVGElement, name: string): void {
  save(new Blob([toStandalone(svg)], { type: "image/svg+xml" }), `${name}.svg`);
}

/** Saves a chart as a PNG of twice its size on the screen. */
export async function savePng(svg: SVGSVGElement, name: string): Promise<void> {
  const url = URL.createObjectURL(new Blob([toStandalone(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = svg.width.baseVal.value * 2;
    canvas.height = svg.height.baseVal.value * 2;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && save(blob, `${name}.png`), "image/png");
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** The chart's text with every colour of the page's written out, on the page's background. */
function toStandalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const style = getComputedStyle(svg);
  const resolved = (text: string): string =>
    text.replace(/var\((--[\w-]+)\)/g, (_, name: string) => style.getPropertyValue(name).trim());
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    for (const name of painted) {
      const value = element.getAttribute(name);
      if (value?.includes("var(")) element.setAttribute(name, resolved(value));
    }
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.color = style.color;
  copy.style.background = style.getPropertyValue("--paper").trim();
  copy.style.fontFamily = "system-ui, sans-serif";
  return new XMLSerializer().serializeToString(copy);
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
