import { hash } from 'node:crypto'

/** A part of an archive: everything but the files of users, and files of users that are drawn at random. */
export interface SampleRule {
  /** The paths of the archive whose files are drawn: those of storages. The names directly below them are the users. */
  readonly drawn: readonly string[]
  /** The paths of which nothing is in the sample. */
  readonly without: readonly string[]
  /** The share of the files that is drawn, from 0 to 1. */
  readonly share: number
  /** Bytes that the drawn files have together at most. */
  readonly maxBytes: number
  /** Another text draws other files. */
  readonly seed: string
}

/** An entry of an archive or of its manifest. */
interface SampledEntry {
  readonly path: string
  readonly type: 'file' | 'directory'
  readonly size: number
}

/**
 * Decides which entries of an archive are in a sample. For all entries in their order, the answers are always the same. Of each user
 * on each storage, the first file that fits is always drawn. Folders of users are not drawn: the folders above a file are made with it.
 */
export class Sample {
  readonly #rule: SampleRule
  readonly #homes = new Set<string>()
  #leftBytes: number

  constructor(rule: SampleRule) {
    this.#rule = rule
    this.#leftBytes = rule.maxBytes
  }

  includes({ path, type, size }: SampledEntry): boolean {
    const { drawn, without } = this.#rule
    if (without.some((above) => isWithin(path, above))) return false
    const storage = drawn.find((above) => isWithin(path, above))
    if (storage === undefined) return true
    if (type === 'directory' || size > this.#leftBytes) return false
    const home = path.slice(0, path.indexOf('/', storage.length + 1))
    if (this.#homes.has(home) && !this.#isDrawn(path)) return false
    this.#homes.add(home)
    this.#leftBytes -= size
    return true
  }

  #isDrawn(path: string): boolean {
    const { seed, share } = this.#rule
    return hash('sha256', `${seed}/${path}`, 'buffer').readUInt32BE() < share * 2 ** 32
  }
}

function isWithin(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`)
}
