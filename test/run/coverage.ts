/**
 * The lines of the packages that run while all tests run, by V8's coverage, which each process of Node writes when it ends. It
 * counts processes from the sources: not those of a packed release, and not those that were killed. In a function that comes from the
 * cache of compiled code, or that runs in a process which files share, no branches count: all its lines have run.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './command.ts'

/** Names the folder into which a process of a group writes its coverage. */
export const coverageVariable = 'TEST_COVERAGE'

const recordFile = join(root, 'test/run/coverage.json')

/** The percentage of lines by the folders of packages. */
type Percentages = ReadonlyMap<string, number>

/** A file that a process writes. Ranges are in order, each before those within it, with offsets in UTF-16 code units. */
interface Written {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly {
      readonly ranges: readonly {
        readonly startOffset: number
        readonly endOffset: number
        readonly count: number
      }[]
    }[]
  }[]
}

/** A line with code: the offsets of its first character and after its last one, without blanks. */
interface Line {
  readonly start: number
  readonly end: number
}

interface CoveredFile {
  readonly lines: readonly Line[]
  /** Whether each of the lines ran. */
  readonly ran: boolean[]
}

export class Coverage {
  readonly #files = new Map<string, CoveredFile>()

  /** Adds what processes have written into a folder, and removes the folder. */
  async add(folder: string): Promise<void> {
    for (const name of await readdir(folder).catch(() => [])) {
      // A process that was killed may have left a part of a file.
      const written = await readFile(join(folder, name), 'utf8')
        .then(JSON.parse)
        .catch(() => null)
      if (written !== null) await this.#addWritten(written)
    }
    await rm(folder, { recursive: true, force: true })
  }

  async #addWritten({ result }: Written): Promise<void> {
    for (const { url, functions } of result) {
      const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : ''
      if (!source.test(file)) continue
      const { lines, ran } = await this.#file(file)
      const now = lines.map(() => true)
      for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
        for (
          let index = firstFrom(lines, startOffset);
          (lines[index]?.end ?? Infinity) <= endOffset;
          index += 1
        ) {
          now[index] = count > 0
        }
      }
      now.forEach((isRun, index) => {
        if (isRun) ran[index] = true
      })
    }
  }

  async #file(file: string): Promise<CoveredFile> {
    const found = this.#files.get(file)
    if (found !== undefined) return found
    const lines = linesOf(await readFile(join(root, file), 'utf8'))
    const added = { lines, ran: lines.map(() => false) }
    this.#files.set(file, added)
    return added
  }

  /** The percentage of lines that ran, of the files of each package that any process loaded. */
  percentages(): Percentages {
    const packages = Map.groupBy(this.#files, ([file]) => file.slice(0, file.indexOf('/src/')))
    const percentages = Array.from(packages, ([name, files]) => {
      const ran = files.flatMap(([, file]) => file.ran)
      return [name, ran.length === 0 ? 100 : (100 * ran.filter(Boolean).length) / ran.length] as const
    })
    return new Map(percentages.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** The index of the first line that starts at an offset or after it. */
function firstFrom(lines: readonly Line[], offset: number): number {
  let [low, high] = [0, lines.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((lines[middle]?.start ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return low
}

/** The sources of packages. */
const source = /^(?:kernel|plugin-sdk|(?:plugins|examples)\/[^/]+)\/src\/.*\.[jt]s$/

/** The lines that are neither blank nor comments. */
function linesOf(text: string): Line[] {
  return Array.from(text.matchAll(/^[ \t]*(?!\/\/|\/?\*)(\S.*)$/gm), ({ index, 0: line }) => ({
    start: index + line.length - line.trimStart().length,
    end: index + line.trimEnd().length,
  }))
}

/** Returns the recorded percentages. */
export async function readCoverage(): Promise<Percentages> {
  return new Map(Object.entries(JSON.parse(await readFile(recordFile, 'utf8'))))
}

/** Records percentages, rounded down to tenths. */
export async function recordCoverage(covered: Percentages): Promise<void> {
  const rounded = Array.from(covered, ([name, percent]) => [name, Math.floor(percent * 10) / 10])
  await writeFile(recordFile, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`)
}

/** Returns one line for each package whose coverage is more than one point below the recorded one. */
export function belowFloor(covered: Percentages, record: Percentages): string[] {
  return [...record]
    .filter(([name, percent]) => (covered.get(name) ?? 0) < percent - 1)
    .map(
      ([name, percent]) =>
        `the tests run ${(covered.get(name) ?? 0).toFixed(1)} % of the lines of ${name}; the floor is ${(percent - 1).toFixed(1)} %. ` +
        'Test what was added, or record the coverage in the commit that lowers it: .ci/run --record',
    )
}
