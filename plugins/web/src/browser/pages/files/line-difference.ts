import { structuredPatch } from 'diff'

/** A line of the difference: `-` stands in the older text only, `+` in the newer text only. */
interface DifferenceLine {
  readonly sign: '-' | '+' | ' '
  readonly text: string
}

/** Lines that differ, with those around them. */
export interface DifferencePart {
  /** The number of the first line in the newer text. */
  readonly line: number
  readonly lines: readonly DifferenceLine[]
}

/** The lines without a difference around those with one. */
const context = 3

/** Milliseconds for which the page may stand still. */
const mostMs = 1000

/** Compares two texts line by line. Returns `null` if they differ so much that it takes too long. */
export function lineDifference(older: string, newer: string): DifferencePart[] | null {
  const patch = structuredPatch('', '', older, newer, '', '', { context, timeout: mostMs })
  if (patch === undefined) return null
  return patch.hunks.map(({ newStart, lines }) => ({
    line: newStart,
    // The library adds a line that begins with "\" if a text does not end with a line break.
    lines: lines.filter((line) => !line.startsWith('\\')).map(lineOf),
  }))
}

function lineOf(line: string): DifferenceLine {
  return { sign: line[0] as DifferenceLine['sign'], text: line.slice(1) }
}
