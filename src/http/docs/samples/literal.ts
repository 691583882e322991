/** JSON over several lines, as the samples show bodies. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** The same as a JavaScript literal. */
export function literal(value: unknown): string {
  return (json(value) ?? '')
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_all, text: string) => `'${text.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`)
    .replace(/^(\s*)'(\w+)':/gm, '$1$2:')
    .replace(/([^{[,])$(?=\n\s*[}\]])/gm, '$1,');
}
