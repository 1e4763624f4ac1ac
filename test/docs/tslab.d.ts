/** What the documentation's cells use of tslab, the notebook's kernel, which is installed beside the project only. */
export interface Display {
  html(text: string): void;
  text(text: string): void;
}
export const display: Display;
export function newDisplay(): Display;
