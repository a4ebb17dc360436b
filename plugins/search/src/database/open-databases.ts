import { type DatabaseSettings, databaseName, type IndexCalls } from './protocol.ts'
import { openUserDatabase, removeUserDatabase } from './schema.ts'
import { UserIndex } from './user-index.ts'

/** Databases that are open. Each has some MiB of memory. */
const mostOpen = 4

/** The databases of all users, a few of them open. */
export class OpenDatabases {
  readonly #settings: DatabaseSettings
  /** By their users, the one that was used last at the end. */
  readonly #open = new Map<string, UserIndex>()

  constructor(settings: DatabaseSettings) {
    this.#settings = settings
  }

  call(userUuid: string, call: keyof IndexCalls, args: readonly unknown[]): unknown {
    const index = this.#of(userUuid)
    return (index[call] as (...args: readonly unknown[]) => unknown).apply(index, [...args])
  }

  /** Removes the database of a user. */
  erase(userUuid: string): void {
    this.#open.get(userUuid)?.close()
    this.#open.delete(userUuid)
    removeUserDatabase(this.#settings.folder, databaseName(userUuid))
  }

  close(): void {
    for (const index of this.#open.values()) index.close()
    this.#open.clear()
  }

  #of(userUuid: string): UserIndex {
    const { folder, maxFileSize } = this.#settings
    const index =
      this.#open.get(userUuid) ?? new UserIndex(openUserDatabase(folder, databaseName(userUuid)), maxFileSize)
    this.#open.delete(userUuid)
    this.#open.set(userUuid, index)
    const [oldest] = this.#open
    if (this.#open.size > mostOpen && oldest !== undefined) {
      oldest[1].close()
      this.#open.delete(oldest[0])
    }
    return index
  }
}
