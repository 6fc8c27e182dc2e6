/** The view's stage, and what a benchmark of it needs. */
export { compare } from "../../js/graph/picture.ts";
export { decode } from "../../js/graph/payload.ts";
export { readDiff } from "../../js/graph/read_diff.ts";
export { toScreen } from "../../js/render/camera.ts";
export { Stage } from "../../js/render/stage.ts";
export { Ruler } from "../../js/render/text.ts";
