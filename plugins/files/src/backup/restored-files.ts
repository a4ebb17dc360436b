import { createReadStream, existsSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log, RegistryReader, StorageBackend } from '@nodekeep/plugin-sdk'
import { emptyFolder, withShortPath } from '@nodekeep/plugin-sdk/archive'
import type { Mounts } from '../mounts/mounts.ts'

interface RestoredFilesParts {
  readonly mounts: Pick<Mounts, 'withhold' | 'release'>
  readonly backends: RegistryReader<StorageBackend>
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly signal: AbortSignal
}

/** The folders of users, which have the uuid of the user as their name. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** How long a storage that does not work is left alone, in milliseconds. */
const retryMs = 60_000

/**
 * The files that a restore has left for storages without plain files, at `restored/<backend>/<user uuid>/…`. Until they are
 * written into a storage, nobody reads or writes files there: programs that sync would take the missing ones for deleted.
 */
export class RestoredFiles {
  readonly #dataDir: string
  readonly #parts: RestoredFilesParts
  readonly #waiting: readonly string[]
  #retry: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  /** @param dataDir the folder of the plugin */
  constructor(dataDir: string, parts: RestoredFilesParts) {
    this.#dataDir = dataDir
    this.#parts = parts
    const folder = join(dataDir, 'restored')
    this.#waiting = existsSync(folder) ? readdirSync(folder) : []
    for (const name of this.#waiting) parts.mounts.withhold(name)
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
    const { mounts, backends, log, signal } = this.#parts
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

/** Removes the files of all users from a storage, then writes those of a folder into it. */
async function replaceFiles(backend: StorageBackend, folder: string, signal: AbortSignal): Promise<void> {
  const former: string[] = []
  for await (const { name, type } of backend.list('/')) {
    if (type === 'directory' && uuid.test(name)) former.push(name)
  }
  for (const name of former) await backend.remove(`/${name}`)
  const folders = ['']
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    for (const name of withShortPath(folder + path, (short) => readdirSync(short))) {
      signal.throwIfAborted()
      const inner = `${path}/${name}`
      const found = withShortPath(folder + inner, (short) => lstatSync(short))
      if (found.isDirectory()) {
        await backend.makeDirectory(inner)
        folders.push(inner)
      } else {
        const { size, mtime } = found
        await backend.write(inner, contentOf(folder + inner), { size, modified: mtime, signal })
      }
    }
  }
}

/** The file is opened before the short path ends. */
function contentOf(path: string): AsyncIterable<Uint8Array> {
  const descriptor = withShortPath(path, (short) => openSync(short, 'r'))
  return createReadStream('', { fd: descriptor })
}

async function removeFolder(folder: string): Promise<void> {
  await emptyFolder(folder)
  await rmdir(folder)
}
