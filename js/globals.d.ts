// What build.mjs makes of two kinds of import.
declare module "*?worker" {
  const source: string;
  export default source;
}
declare module "*.css" {
  const text: string;
  export default text;
}
