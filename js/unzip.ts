/** Text that was packed with gzip and base64: the worker's program and the style sheet in the bundle, and the states of a saved page. */
export async function unzipped(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
