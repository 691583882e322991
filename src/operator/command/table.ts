/** Formats rows under headings, in columns as wide as their longest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows.map((row) => row.map(onOneLine))];
  const widths = headings.map((_, column) =>
    all.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Client data may hold line breaks. What else must not reach the terminal is escaped where all is printed. */
function onOneLine(text: string): string {
  return text.replaceAll(/[^\P{Cc}\u007F-\u009F]/gu, ' ');
}
