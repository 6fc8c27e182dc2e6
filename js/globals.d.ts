// What build.mjs makes of two kinds of import.
declare module "*?worker" {
  /** For `unzipped`. */
  const packed: string;
  export default packed;
}
declare module "*.css" {
  /** For `unzipped`. */
  const packed: string;
  export default packed;
}
