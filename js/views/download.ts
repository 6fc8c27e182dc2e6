/** Gives the browser a file to keep, made on the page. */
import { h } from "./dom.ts";

export function download(text: string | null, name: string): void {
  if (text === null) return;
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  h("a", { href: url, download: name }).click();
  // The click only starts the download.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
