export { LayoutClient, type RunOptions, Superseded } from "./client.ts";
export type { LayoutInput, LayoutOptions, LayoutResult } from "./types.ts";
