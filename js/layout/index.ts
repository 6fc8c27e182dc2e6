export { LayoutClient, Superseded, type RunOptions } from "./client";
export { layout, LayoutEngine } from "./compound";
export type { LayoutInput, LayoutOptions, LayoutResult } from "./types";
