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
  /** Whose process it shared: the first file's of its group, or its own path. */
  readonly process: string
  /** Its part of the time of its process. */
  readonly ms: number
  /** The skipped tests, by what leads to them, each with the reason that it gives. */
  readonly skippedTests: readonly string[]
}

/** Counts the tests of one file as its process writes TAP. */
export interface FileCount {
  /** A stream to write the TAP to. */
  readonly parser: Parser
  /**
   * Tells what it came to, once the parser is complete.
   *
   * @param ended whether the process ended well by itself
   */
  result(ended: boolean, ms: number): FileResult
}

/**
 * Counts tests: the blocks that people named, not the assertions in them. A file or a block without blocks of its own
 * is one test; a block or a file that fails by itself (it crashed, it timed out) counts as failed beside those within
 * it. A test with a skipped or an unfinished ("todo") point is skipped, never passed.
 */
export function countTests(file: string): FileCount {
  const parser = new Parser({ name: file })
  const block = watchBlock(parser)
  return {
    parser,
    result(ended, ms) {
      const ok = ended && parser.results?.ok === true
      const { skipAll = true, skipReason = '' } = parser.results?.plan ?? {}
      return {
        file,
        ok,
        process: file,
        ms,
        ...settle({ ok, fullname: file, skip: skipAll && skipReason, todo: false }, block),
      }
    },
  }
}

/** Counts the tests of files that ran one after the other in one process. */
export interface GroupCount {
  readonly parser: Parser
  /** What each file came to whose end was seen, in order. */
  readonly results: readonly FileResult[]
}

/**
 * @param process the first file of the group
 * @param fileOf tells of the name of a test whether it is the end of a file, and of which
 */
export function countGroup(process: string, fileOf: (name: string) => string | undefined): GroupCount {
  const parser = new Parser()
  const results: FileResult[] = []
  const block = watchBlock(parser)
  let ok = true
  let since = performance.now()
  parser.on('assert', (point: Result) => {
    const file = fileOf(point.name)
    ok &&= point.ok || isSkipped(point)
    if (file === undefined || !point.closingTestPoint) return
    // The end itself was counted as a test.
    block.within.passed -= 1
    block.blocks -= 1
    const ms = performance.now() - since
    const { skippedTests, ...tally } = settle({ ok, fullname: file, skip: false, todo: false }, block)
    const named = skippedTests.map((name) => `${file} > ${name}`)
    results.push({ file, ok, process, ms, ...tally, skippedTests: named })
    Object.assign(block, { within: emptyTally(), blocks: 0 })
    ok = true
    since += ms
  })
  return { parser, results }
}

/** What was counted within a block, and which tests were skipped in it. */
interface Tally extends Counts {
  readonly skippedTests: string[]
}

/** How a block or a file ended. */
type Ending = Pick<Result, 'ok' | 'fullname' | 'skip' | 'todo'>

interface Block {
  within: Tally
  blocks: number
}

/** Counts what stands within a block, and within the blocks in it. */
function watchBlock(parser: Parser): Block {
  const block: Block = { within: emptyTally(), blocks: 0 }
  let inner: Block | undefined
  parser.on('child', (child: Parser) => {
    inner = watchBlock(child)
  })
  parser.on('assert', (point: Result) => {
    if (point.closingTestPoint) {
      const tally = settle(point, inner)
      inner = undefined
      block.blocks += 1
      addCounts(block.within, tally)
      block.within.skippedTests.push(...tally.skippedTests)
    } else if (isSkipped(point)) {
      skip(block.within, point)
    }
  })
  return block
}

function settle(ending: Ending, block: Block | undefined): Tally {
  const tally = block?.within ?? emptyTally()
  if (!ending.ok) {
    if (tally.failed === 0) tally.failed = 1
  } else if (isSkipped(ending)) {
    if (tally.skipped === 0) skip(tally, ending)
  } else if (!block?.blocks && tally.skipped === 0) {
    tally.passed = 1
  }
  return tally
}
function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: 0, skippedTests: [] }
}

function isSkipped({ skip, todo }: Ending): boolean {
  return skip !== false || todo !== false
}

function skip(tally: Tally, { fullname, skip, todo }: Ending): void {
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
