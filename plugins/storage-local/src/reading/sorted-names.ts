import { setImmediate as nextTurn } from 'node:timers/promises'

/** Names that are merged in one turn of the event loop. */
const mergedPerTurn = 16_384

/** Each part of a reader may be larger than the one before by this factor: a reader that goes on reads. */
const growth = 8

/** Bytes of names that are held. */
interface Bounds {
  /** For all readers together, apart from `least`. */
  readonly most: number
  /** For each reader in any case. */
  readonly least: number
}

/** The first names of a folder, or all of them. */
interface Part {
  /** Sorted names. */
  readonly runs: readonly string[][]
  readonly bytes: number
  /** The last name. Undefined if these are all names. */
  readonly last: string | undefined
}

/**
 * Sorts the names of folders. A reader may take any time, so the bytes of names that all readers hold are bounded: of more names, a reader
 * gets the first ones, and the folder is read again for those that follow. While there is memory, a folder of any size is read a few times.
 */
export class SortedNames {
  readonly #bounds: Bounds
  /** Bytes of names that all readers hold. */
  #held = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /**
   * Yields names in parts, sorted by their UTF-16 code units, each name once. It holds a part until the next one is asked for.
   *
   * @param read yields all names after one, in portions and in no order
   */
  async *parts(
    after: string,
    read: (after: string) => AsyncIterable<string[]>,
  ): AsyncGenerator<readonly string[], void, undefined> {
    const { least } = this.#bounds
    let allowed = least
    for (let last: string | undefined = after; last !== undefined; allowed *= growth) {
      let part: Part = { runs: [], bytes: 0, last: undefined }
      try {
        for await (const portion of read(last)) part = await this.#add(part, portion, allowed)
        yield await merged(part.runs)
        last = part.last
      } finally {
        this.#held -= part.bytes
      }
    }
  }

  /** If a portion does not fit, about half of the names are left out: few of the next portions come before the last one then. */
  async #add({ runs, bytes, last }: Part, portion: readonly string[], allowed: number): Promise<Part> {
    const names = portion.filter((name) => last === undefined || name < last).sort()
    const added = bytesOf(names)
    const { most, least } = this.#bounds
    const sum = bytes + added
    if (sum <= least || (sum <= allowed && this.#held + added <= most)) {
      this.#held += added
      return { runs: [...runs, names], bytes: sum, last }
    }
    const first = firstOf(await merged([...runs, names]), Math.max(bytes, least) / 2)
    const kept = bytesOf(first)
    this.#held += kept - bytes
    return { runs: [first], bytes: kept, last: first.at(-1) }
  }
}

/** Returns the bytes of names in V8's memory, at most: strings with 16 bits for a unit, and their place in an array. */
function bytesOf(names: readonly string[]): number {
  return names.reduce((bytes, { length }) => bytes + 32 + 2 * length, 0)
}

/** Returns the first names up to a number of bytes, at least one. */
function firstOf(names: readonly string[], mostBytes: number): string[] {
  let bytes = 0
  const end = names.findIndex((name) => {
    bytes += bytesOf([name])
    return bytes > mostBytes
  })
  return names.slice(0, end === -1 ? undefined : Math.max(end, 1))
}

/**
 * Merges sorted names, each name once. Sorting a hundred thousand names at once would hold up the event loop, so portions are sorted one
 * by one and merged in turns.
 */
async function merged(runs: readonly string[][]): Promise<string[]> {
  const longer: string[][] = []
  for (let index = 0; index < runs.length; index += 2)
    longer.push(await merge(runs[index] ?? [], runs[index + 1] ?? []))
  return longer.length > 1 ? merged(longer) : (longer[0] ?? [])
}

async function merge(left: readonly string[], right: readonly string[]): Promise<string[]> {
  const both: string[] = []
  let [leftIndex, rightIndex, last] = [0, 0, null as string | null]
  for (let count = 1; leftIndex < left.length || rightIndex < right.length; count += 1) {
    const [a, b] = [left[leftIndex], right[rightIndex]]
    const takesLeft = b === undefined || (a !== undefined && a <= b)
    const name = (takesLeft ? a : b) as string
    if (takesLeft) leftIndex += 1
    else rightIndex += 1
    if (name !== last) both.push(name)
    last = name
    if (count % mergedPerTurn === 0) await nextTurn()
  }
  return both
}
