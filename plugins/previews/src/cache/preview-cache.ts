import { randomUUID } from 'node:crypto'
import { mkdir, opendir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { KeyedLock, type Log } from '@nodekeep/plugin-sdk'
import { diskSpace, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { type PreviewSize, sizeNames } from '../preview-sizes.ts'
import type { CacheTable, PreviewKey } from '../tables/cache-table.ts'

/** Previews that are removed at once. */
const removedAtOnce = 16

/** Bytes that stay free on the disk: files of people are worth more than previews. */
const leastFree = 512 * 1024 ** 2

/** The part of the cache that previews may fill which nobody has asked for, by their size. All photos shall have small ones first. */
const shares: Readonly<Record<PreviewSize, number>> = { small: 0.9, medium: 0.5, large: 0 }

const fileName = /^(?<sha256>[0-9a-f]{64})-(?<size>[a-z]+)\.webp$/

interface PreviewCacheOptions {
  readonly folder: string
  readonly table: CacheTable
  /** Most bytes of all previews. */
  readonly limit: number
  readonly log: Pick<Log, 'warn'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/**
 * The previews as files: `<user>/<two digits>/<SHA-256 of the content>-<size>.webp`. A file without a row of the table does not count,
 * and a row without its file means that the preview is made again. So nothing need be durable.
 */
export class PreviewCache {
  readonly #options: PreviewCacheOptions
  readonly #lock = new KeyedLock()
  #bytes: number

  constructor(options: PreviewCacheOptions) {
    this.#options = options
    this.#bytes = options.table.bytes(null)
  }

  /** Bytes of all previews. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns a preview; null if it is not there, or not whole. */
  async get(key: PreviewKey): Promise<Buffer | null> {
    const bytes = this.#options.table.use(key)
    if (bytes === null) return null
    const content = await readFile(this.#fileOf(key)).catch(() => null)
    if (content?.length === bytes) return content
    try {
      await this.#remove(key)
    } catch (error) {
      // The preview that is made now replaces it once there is room.
      if (!isDiskFull(error)) throw error
    }
    return null
  }

  /** Whether a preview that nobody has asked for may be kept. */
  hasRoomFor(size: PreviewSize): boolean {
    return this.#bytes < this.#options.limit * shares[size]
  }

  /**
   * Keeps a preview, and removes those that were not used for longest. A preview that cannot be kept is made again at its next use.
   *
   * @param mayKeep is asked when nothing else changes the previews of the user
   */
  async put(key: PreviewKey, content: Uint8Array, mayKeep: () => boolean): Promise<void> {
    const { folder, table, limit, log, signal } = this.#options
    try {
      await this.#lock.run([key.userUuid], async () => {
        if (!mayKeep()) return
        const file = this.#fileOf(key)
        await mkdir(dirname(file), { recursive: true, mode: 0o700 })
        const space = await diskSpace(folder)
        if (space !== null && space.free < leastFree) return
        const part = `${file}.${randomUUID()}`
        await writeFile(part, content, { mode: 0o600 })
        await rename(part, file)
        const former = table.use(key) ?? 0
        table.add(key, content.length)
        this.#bytes += content.length - former
      })
      while (this.#bytes > limit) {
        const oldest = table.oldest(removedAtOnce)
        if (oldest.length === 0) break
        for (const one of oldest) if (this.#bytes > limit) await this.#remove(one)
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'A preview could not be kept.')
    }
  }

  /** Removes the previews of contents that no file of the user has any more, and files that do not count. */
  async sweep(userUuid: string, signal: AbortSignal): Promise<void> {
    const { table } = this.#options
    for (;;) {
      signal.throwIfAborted()
      const unused = table.unused(userUuid, removedAtOnce)
      for (const key of unused) await this.#remove(key)
      if (unused.length < removedAtOnce) break
    }
    for await (const parent of entriesIn(this.#folderOf(userUuid))) {
      for await (const name of entriesIn(join(this.#folderOf(userUuid), parent))) {
        signal.throwIfAborted()
        await this.#lock.run([userUuid], async () => {
          const { sha256 = '', size } = fileName.exec(name)?.groups ?? {}
          const known = sizeNames.find((one) => one === size)
          if (known !== undefined && table.has({ userUuid, sha256, size: known })) return
          await rm(join(this.#folderOf(userUuid), parent, name), { force: true })
        })
      }
    }
  }

  /** Removes all previews of a user. */
  async erase(userUuid: string): Promise<void> {
    await this.#lock.run([userUuid], async () => {
      const bytes = this.#options.table.bytes(userUuid)
      await rm(this.#folderOf(userUuid), { recursive: true, force: true })
      this.#options.table.erase(userUuid)
      this.#bytes -= bytes
    })
  }

  async #remove(key: PreviewKey): Promise<void> {
    const { table } = this.#options
    await this.#lock.run([key.userUuid], async () => {
      await rm(this.#fileOf(key), { force: true })
      const bytes = table.use(key)
      table.remove(key)
      this.#bytes -= bytes ?? 0
    })
  }

  #fileOf({ userUuid, sha256, size }: PreviewKey): string {
    return join(this.#folderOf(userUuid), sha256.slice(0, 2), `${sha256}-${size}.webp`)
  }

  #folderOf(userUuid: string): string {
    return join(this.#options.folder, userUuid)
  }
}

/** The names in a folder; none if it is gone. */
async function* entriesIn(folder: string): AsyncGenerator<string, void, undefined> {
  const found = await opendir(folder).catch(() => null)
  for await (const { name } of found ?? []) yield name
}
