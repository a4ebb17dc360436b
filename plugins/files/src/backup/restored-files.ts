import { existsSync, readdirSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log, RegistryReader, StorageBackend } from '@nodekeep/plugin-sdk'
import type { Mounts } from '../mounts/mounts.ts'

interface RestoredFilesServices {
  readonly mounts: Pick<Mounts, 'withhold' | 'release'>
  readonly backends: RegistryReader<StorageBackend>
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly signal: AbortSignal
}

/** How long a storage that does not work is left alone, in milliseconds. */
const retryMs = 60_000

/**
 * The files that a restore has left for storages without plain files, at `restored/<backend>/<user uuid>/…`. Until they are
 * written into a storage, nobody reads or writes files there: programs that sync would take the missing ones for deleted.
 */
export class RestoredFiles {
  readonly #dataDir: string
  readonly #services: RestoredFilesServices
  readonly #waiting: readonly string[]
  #retry: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  /** @param dataDir the folder of the plugin */
  constructor(dataDir: string, services: RestoredFilesServices) {
    this.#dataDir = dataDir
    this.#services = services
    const folder = join(dataDir, 'restored')
    const left = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
    this.#waiting = left.flatMap((entry) => (entry.isDirectory() ? entry.name : []))
    for (const name of this.#waiting) services.mounts.withhold(name)
  }

  /** Begins to write the files into their storages, which may take hours. When it is interrupted, the next start begins again. */
  begin(): void {
    this.#writing = this.#writeAll()
  }

  /** Waits for the end. Abort the signal before. */
  async close(): Promise<void> {
    clearTimeout(this.#retry)
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    if (this.#waiting.length === 0) return
    const { mounts, backends, log, signal } = this.#services
    // Its libraries take 6 MB of memory, and restores are rare.
    const { removeFolder, replaceFiles } = await import('./replace-files.ts')
    const written = join(this.#dataDir, 'written')
    let isBehind = false
    for (const name of this.#waiting) {
      const folder = join(this.#dataDir, 'restored', name)
      try {
        if (existsSync(written)) await removeFolder(written)
        if (!existsSync(folder)) continue
        const backend = backends.get(name)
        if (backend === undefined) throw new Error(`No plugin provides the storage backend "${name}".`)
        log.info({ backend: name }, 'The files of a restored backup are written into their storage.')
        await replaceFiles(backend, folder, signal)
        // In one step: a part of the folder must not look like all of it.
        await rename(folder, written)
        await removeFolder(written)
        mounts.release(name)
        log.info({ backend: name }, 'The files of a restored backup are in their storage.')
      } catch (err) {
        if (signal.aborted) return
        isBehind = true
        log.warn(
          { err, backend: name },
          'The files of a restored backup could not be written into their storage. It stays closed until they are.',
        )
      }
    }
    if (signal.aborted || !isBehind) return
    this.#retry = setTimeout(() => this.begin(), retryMs)
    this.#retry.unref()
  }
}
