/** The view's stage, and what a benchmark of it needs. */
export { compare, readDiff } from "../../js/graph/picture.ts";
export { decode } from "../../js/graph/payload.ts";
export { toScreen } from "../../js/render/camera.ts";
export { Stage } from "../../js/render/stage.ts";
export { Ruler } from "../../js/render/text.ts";
