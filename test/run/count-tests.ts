import { Parser, type Result } from 'tap-parser'

/** Numbers of tests by their result. */
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
  /** Its share of the time of its process, in milliseconds. */
  readonly ms: number
  /** The CPU seconds of its tests, and of the processes that they have started and waited for. */
  readonly cpuSeconds: number
  /** The skipped tests: the names of the blocks around each, its own name, and its reason. */
  readonly skippedTests: readonly string[]
}

/** Counts the tests of a process as it writes TAP. */
interface ProcessCount {
  /** A stream to write the TAP to. */
  readonly parser: Parser
  /**
   * The result of each file, once the parser is complete.
   *
   * @param ended whether the process ended by itself, with code 0
   * @param cpuSeconds those of the process and of all that it has waited for
   */
  results(ended: boolean, cpuSeconds: number): FileResult[]
}

/**
 * Counts tests: the named blocks, not the assertions in them. A file or a block without blocks in it is one test. A block or
 * a file that fails itself, by a crash or a timeout, counts as one more failed test. A test with a skipped or "todo"
 * assertion counts as skipped, never as passed.
 */
export function countTests(file: string): ProcessCount {
  const parser = new Parser({ name: file })
  const block = watchBlock(parser)
  const since = performance.now()
  return {
    parser,
    results(ended, cpuSeconds) {
      const ok = ended && parser.results?.ok === true
      const { skipAll = true, skipReason = '' } = parser.results?.plan ?? {}
      const counts = countBlock({ ok, fullname: file, skip: skipAll && skipReason, todo: false }, block)
      return [{ file, ok, ms: performance.now() - since, cpuSeconds, ...counts }]
    },
  }
}

/** The comment by which the process of a group tells the CPU seconds of a file that has ended. */
export function cpuComment(file: string, seconds: number): string {
  return `CPU seconds of ${file}: ${seconds.toFixed(3)}`
}

/**
 * Counts the tests of files that run one after the other in one process. The file in which the process ends early has failed, and
 * so has each file after it. The CPU time in which the process loads what the files share counts for none of them.
 *
 * @param files the names of the tests that each hold the tests of a file
 */
export function countGroup(files: readonly string[]): ProcessCount {
  const parser = new Parser()
  const found = new Map<string, FileResult>()
  const block = watchBlock(parser)
  let since = performance.now()
  parser.on('assert', ({ name: file, ok, closingTestPoint }: Result) => {
    if (!files.includes(file)) return
    const last = found.get(file)
    if (!closingTestPoint && last) found.set(file, { ...last, ok: false, failed: last.failed + 1 })
    if (!closingTestPoint) return
    const ms = performance.now() - since
    found.set(file, { file, ok, ms, cpuSeconds: 0, ...block.within })
    Object.assign(block, { within: emptyTally(), blocks: 0 })
    since += ms
  })
  parser.on('comment', (comment: string) => {
    const [, file = '', seconds] = /^# CPU seconds of (.*): ([\d.]+)$/.exec(comment.trim()) ?? []
    const result = found.get(file)
    if (result) found.set(file, { ...result, cpuSeconds: Number(seconds) })
  })
  return {
    parser,
    results(ended) {
      const failed = { ok: false, ms: 0, cpuSeconds: 0, ...emptyTally(), failed: 1 }
      const results = files.map((file) => found.get(file) ?? { ...failed, file })
      // An error after the last test may be of any of the files.
      return !ended && results.every(({ ok }) => ok)
        ? results.with(0, { ...failed, file: files[0] ?? '' })
        : results
    },
  }
}

/** The counts within a block, and its skipped tests. */
interface Tally extends Counts {
  readonly skippedTests: string[]
}

/** The end of a block or a file. */
type Ending = Pick<Result, 'ok' | 'fullname' | 'skip' | 'todo'>

interface Block {
  within: Tally
  blocks: number
}

/** Counts the tests within a block, and within the blocks in it. */
function watchBlock(parser: Parser): Block {
  const block: Block = { within: emptyTally(), blocks: 0 }
  let inner: Block | undefined
  let announced: string | undefined
  parser.on('child', (child: Parser) => {
    inner = watchBlock(child)
  })
  parser.on('comment', (comment: string) => {
    announced = /^# Subtest: (.*)/.exec(comment)?.[1]?.replaceAll(/\\([#\\])/g, '$1')
  })
  parser.on('assert', (point: Result) => {
    // node:test writes nothing within a test that has no tests in it, so no block comes before its end.
    if (point.closingTestPoint || point.name === announced) {
      const tally = countBlock(point, inner)
      inner = undefined
      announced = undefined
      block.blocks += 1
      addCounts(block.within, tally)
      block.within.skippedTests.push(...tally.skippedTests)
    } else if (isSkipped(point)) {
      skip(block.within, point)
    }
  })
  return block
}

function countBlock(ending: Ending, block: Block | undefined): Tally {
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

/** The lines above the closing line that name the skipped tests. */
export function skippedLines(files: Iterable<Pick<FileResult, 'skippedTests'>>): string[] {
  const names = [...files].flatMap(({ skippedTests }) => skippedTests)
  return names.length === 0 ? [] : [`${names.length} skipped:`, ...names.map((name) => `  ${name}`)]
}
