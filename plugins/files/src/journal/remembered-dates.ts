import type { JournalReader } from './journal-reader.ts'

/** Answers are remembered so long at most, in milliseconds: a full disk may delay what the writer was told. */
const kept = 1000

/** So many answers are remembered. */
const most = 10_000

/**
 * Dates of files that were asked for a moment ago. Whoever reads the same files over and over spends a quarter of the
 * time with the database otherwise. What is written has to be followed by `forget`.
 */
export class RememberedDates {
  readonly #reader: JournalReader
  readonly #answers = new Map<string, Date | null>()
  #since = 0

  constructor(reader: JournalReader) {
    this.#reader = reader
  }

  of(userUuid: string, path: string, revision: string): Date | null {
    const now = performance.now()
    if (now - this.#since > kept || this.#answers.size >= most) {
      this.forget()
      this.#since = now
    }
    // Paths have no NUL.
    const key = `${userUuid}${path}\0${revision}`
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const found = this.#reader.createdOf(userUuid, path, revision)
    this.#answers.set(key, found)
    return found
  }

  forget(): void {
    this.#answers.clear()
  }
}
