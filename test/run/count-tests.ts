import { Parser, type Result } from 'tap-parser'

/** How many tests ended how. */
export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** One finished test file. */
export interface FileResult extends Counts {
  /** The path from the root of the repository. */
  readonly file: string
  readonly ok: boolean
  readonly ms: number
}

/**
 * Reads TAP as `tap run` writes it for several files, and counts tests: the blocks that people named, not
 * the assertions in them. A file or a block without blocks of its own is one test; a block that fails by
 * itself (it crashed, it timed out) counts as failed beside those within it. A test with a skipped or an
 * unfinished ("todo") point is skipped, never passed.
 *
 * @param onFile called for each test file as its results are complete
 * @returns a stream to write the TAP to
 */
export function countTests(onFile: (result: FileResult) => void): Parser {
  const parser = new Parser()
  watchPoints(parser, (point, counts) => {
    onFile({ file: point.name, ok: point.ok, ms: point.time ?? 0, ...counts })
  })
  return parser
}

/** Calls back for each block of a parser with what was counted within it. */
function watchPoints(parser: Parser, onBlock: (point: Result, counts: Counts) => void): void {
  let block: Block | undefined
  parser.on('child', (child: Parser) => {
    block = watchBlock(child)
  })
  parser.on('assert', (point: Result) => {
    if (!point.closingTestPoint) return
    onBlock(point, settle(point, block))
    block = undefined
  })
}

interface Block {
  readonly within: Counts
  blocks: number
  skips: number
}

function watchBlock(parser: Parser): Block {
  const block: Block = { within: { passed: 0, failed: 0, skipped: 0 }, blocks: 0, skips: 0 }
  watchPoints(parser, (_point, counts) => {
    block.blocks += 1
    addCounts(block.within, counts)
  })
  parser.on('assert', (point: Result) => {
    if (!point.closingTestPoint && (point.skip || point.todo)) block.skips += 1
  })
  return block
}

function settle(point: Result, block: Block | undefined): Counts {
  const counts = { passed: 0, failed: 0, skipped: block?.skips ?? 0 }
  if (block) addCounts(counts, block.within)
  if (!point.ok) {
    if (counts.failed === 0) counts.failed = 1
  } else if (point.skip || point.todo) {
    counts.skipped = Math.max(1, counts.skipped)
  } else if (!block?.blocks && counts.skipped === 0) {
    counts.passed = 1
  }
  return counts
}

/** Adds `more` to `sum`. */
export function addCounts(sum: Counts, more: Counts): void {
  sum.passed += more.passed
  sum.failed += more.failed
  sum.skipped += more.skipped
}

/** The line that every check of this repository ends with. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
