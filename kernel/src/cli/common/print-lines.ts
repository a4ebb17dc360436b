/** Control characters, which a terminal executes, and characters that change the direction of text. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Writes lines. Control characters are escaped as in JSON, so JSON stays valid. */
export function printLines(lines: readonly string[], stream: NodeJS.WritableStream = process.stdout): void {
  stream.write(lines.map((line) => `${line.replace(unprintable, escaped)}\n`).join(''))
}

/** Writes a value as JSON with indentation. */
export function printJson(value: unknown, stream: NodeJS.WritableStream): void {
  printLines(JSON.stringify(value, null, 2).split('\n'), stream)
}

/**
 * Writes a table.
 *
 * @param rows objects with the same keys, which are the headings
 * @param empty the line for a table without rows
 */
export function printTable(
  rows: readonly Readonly<Record<string, string>>[],
  empty: string,
  stream: NodeJS.WritableStream,
): void {
  const [first] = rows
  if (first === undefined) {
    printLines([empty], stream)
    return
  }
  const headings = Object.keys(first)
  const widths = headings.map((heading) =>
    rows.reduce((width, row) => Math.max(width, row[heading]?.length ?? 0), heading.length),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  printLines(
    [
      line(headings.map((heading) => heading.toUpperCase())),
      ...rows.map((row) => line(headings.map((heading) => row[heading] ?? ''))),
    ],
    stream,
  )
}

/** A name, and the value beside it: one line, or several below each other. */
export type Item = readonly [name: string, value: string | readonly string[]]

/** Returns the lines of a list of items, with their values below each other. An item without lines is left out. */
export function itemLines(items: readonly Item[]): string[] {
  const width = Math.max(0, ...items.map(([name]) => name.length))
  return items.flatMap(([name, value]) =>
    [value].flat().map((line, index) => `${(index === 0 ? name : '').padEnd(width)}  ${line}`.trimEnd()),
  )
}

/** One line for the plugins that work, and one for each that should work and does not. */
export function pluginLines(
  plugins: readonly { readonly id: string; readonly state: string; readonly reason?: string | null }[],
): string[] {
  const counts = ['active', 'disabled'].flatMap((wanted) => {
    const count = plugins.filter(({ state }) => state === wanted).length
    return count === 0 ? [] : [`${count} ${wanted}`]
  })
  const troubled = plugins.filter(({ state }) => state !== 'active' && state !== 'disabled')
  return [
    ...(counts.length === 0 ? [] : [counts.join(', ')]),
    ...troubled.map(
      ({ id, state, reason = null }) => `${id}: ${state}${reason === null ? '' : ` (${reason})`}`,
    ),
  ]
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
