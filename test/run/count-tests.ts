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
  /** The skipped tests, by what leads to them, each with the reason that it gives. */
  readonly skippedTests: readonly string[]
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
  watchPoints(parser, (point, tally) => {
    onFile({ file: point.name, ok: point.ok, ms: point.time ?? 0, ...tally })
  })
  return parser
}

/** What was counted within a block, and which tests were skipped in it. */
interface Tally extends Counts {
  readonly skippedTests: string[]
}

/** Calls back for each block of a parser with what was counted within it. */
function watchPoints(parser: Parser, onBlock: (point: Result, tally: Tally) => void): void {
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
  readonly within: Tally
  blocks: number
}

function watchBlock(parser: Parser): Block {
  const block: Block = { within: emptyTally(), blocks: 0 }
  watchPoints(parser, (_point, tally) => {
    block.blocks += 1
    addCounts(block.within, tally)
    block.within.skippedTests.push(...tally.skippedTests)
  })
  parser.on('assert', (point: Result) => {
    if (!point.closingTestPoint && isSkipped(point)) skip(block.within, point)
  })
  return block
}

function settle(point: Result, block: Block | undefined): Tally {
  const tally = block?.within ?? emptyTally()
  if (!point.ok) {
    if (tally.failed === 0) tally.failed = 1
  } else if (isSkipped(point)) {
    if (tally.skipped === 0) skip(tally, point)
  } else if (!block?.blocks && tally.skipped === 0) {
    tally.passed = 1
  }
  return tally
}

function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: 0, skippedTests: [] }
}

function isSkipped({ skip, todo }: Result): boolean {
  return skip !== false || todo !== false
}

function skip(tally: Tally, { fullname, skip, todo }: Result): void {
  const reason = [skip, todo].find((given) => typeof given === 'string' && given !== '')
  tally.skipped += 1
  tally.skippedTests.push(reason === undefined ? fullname : `${fullname} (${reason})`)
}

/** Adds `more` to `sum`. */
export function addCounts(sum: Counts, more: Counts): void {
  sum.passed += more.passed
  sum.failed += more.failed
  sum.skipped += more.skipped
}

/** The line that every check of this repository ends with. */
export function closingLine({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`
}

/** What stands above the closing line when tests were skipped: how many, and which. */
export function skippedLines(files: Iterable<Pick<FileResult, 'skippedTests'>>): string[] {
  const names = [...files].flatMap(({ skippedTests }) => skippedTests)
  return names.length === 0 ? [] : [`${names.length} skipped:`, ...names.map((name) => `  ${name}`)]
}
