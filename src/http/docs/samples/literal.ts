/** JSON as a JavaScript literal over several lines, as the samples show bodies. */
export function literal(value: unknown): string {
  return overLines(value, 2)
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_all, text: string) => `'${text.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`)
    .replace(/^(\s*)'(\w+)':/gm, '$1$2:');
}

/** The same as a Python literal; true, false and null are written otherwise there, and are in no example. */
export function pythonLiteral(value: unknown): string {
  return overLines(value, 4);
}

function overLines(value: unknown, columns: number): string {
  return (JSON.stringify(value, null, columns) ?? '').replace(/([^{[,])$(?=\n\s*[}\]])/gm, '$1,');
}
