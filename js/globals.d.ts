// What build.mjs makes of two kinds of import.
declare module "*?worker" {
  /** A script that leaves the exports of the file in the variable `layout`. */
  const source: string;
  export default source;
}
/** The version of the Python package. */
declare const WORKBENCH_VERSION: string;
declare module "*.css" {
  const source: string;
  export default source;
}
