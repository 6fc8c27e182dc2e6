/** Text that was packed with gzip and base64: the states of a saved trace. */
export async function unzipped(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
