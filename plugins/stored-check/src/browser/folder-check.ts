import type { CheckedAnswer, Tally } from './words.ts'

/** A file of this device. */
export interface HashedFile {
  /** Without folders. */
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Hexadecimal. */
  readonly sha256: string
}

/** The node takes so many files in a request. */
const mostFiles = 1000

/** Bytes of the files of a request. The node reads as many. */
const mostBytes = 2 ** 30

/** Asks a node about any number of files, some at a time, and counts the answers. It keeps only the files that are not answered yet. */
export class FolderCheck<File extends HashedFile> {
  readonly #ask: (files: readonly HashedFile[]) => Promise<readonly CheckedAnswer[]>
  readonly #onAnswer: (file: File, answer: CheckedAnswer) => void
  readonly #tally = { files: 0, stored: 0, inBackup: 0 }
  #tried: { readonly first: Date; readonly last: Date } | null = null
  #waiting: File[] = []
  #waitingBytes = 0
  /** The request that runs. */
  #asking: Promise<void> = Promise.resolve()

  /**
   * @param ask sends the files to the node. If it rejects, so does the call that needed it
   * @param onAnswer takes each file with its answer
   */
  constructor(
    ask: (files: readonly HashedFile[]) => Promise<readonly CheckedAnswer[]>,
    onAnswer: (file: File, answer: CheckedAnswer) => void,
  ) {
    this.#ask = ask
    this.#onAnswer = onAnswer
  }

  /** The outcome so far. */
  get tally(): Tally {
    return { ...this.#tally, tried: this.#tried }
  }

  /** Adds a file. When there are enough, it asks, and waits only for the request before. */
  async add(file: File): Promise<void> {
    this.#waiting.push(file)
    this.#waitingBytes += file.size
    if (this.#waiting.length < mostFiles && this.#waitingBytes < mostBytes) return
    await this.#asking
    this.#asking = this.#askOnce()
    // The next call tells of it.
    this.#asking.catch(() => {})
  }

  /** Counts a file that cannot be asked for, such as one that this device cannot read. */
  addUnread(): void {
    this.#tally.files += 1
  }

  /** Asks for all files that are left. */
  async end(): Promise<void> {
    await this.#asking
    while (this.#waiting.length > 0) await this.#askOnce()
  }

  async #askOnce(): Promise<void> {
    const asked = this.#waiting.splice(0, mostFiles)
    this.#waitingBytes = bytesOf(this.#waiting)
    const answers = await this.#ask(asked.map(({ name, size, sha256 }) => ({ name, size, sha256 })))
    if (answers.length !== asked.length) throw new Error('The answer of the node is not valid.')
    const left = asked.filter((file, at) => {
      const answer = answers[at] as CheckedAnswer
      if (answer.state === 'pending') return true
      this.#count(answer)
      this.#onAnswer(file, answer)
      return false
    })
    this.#waiting.unshift(...left)
    this.#waitingBytes += bytesOf(left)
  }

  #count({ state, backup }: CheckedAnswer): void {
    this.#tally.files += 1
    if (state === 'stored') this.#tally.stored += 1
    if (backup === null) return
    this.#tally.inBackup += 1
    const at = new Date(backup.tried)
    const { first, last } = this.#tried ?? { first: at, last: at }
    this.#tried = { first: at < first ? at : first, last: at > last ? at : last }
  }
}

function bytesOf(files: readonly HashedFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0)
}
