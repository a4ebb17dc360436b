import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NodeRestores, RestoreMove } from '@nodekeep/plugin-sdk'
import { emptyFolder, withShortPath } from '@nodekeep/plugin-sdk/archive'
import { makeFolder, readJson, syncFolder, writeJson } from '@nodekeep/plugin-sdk/durable-files'
import type { RestoreDifferences } from './differences.ts'
import { lockRestores } from './restore-lock.ts'

/**
 * The content of the folder of a restore: a part of its archive; all of it, verified; the former data, after the restore. Earlier
 * releases wrote `planned` in place of `ready` when the restore was planned.
 */
type RestoreContent = 'unpacking' | 'ready' | 'planned' | 'applied'

/** The content of `restore.json`. Whether the restore is planned, and whether it was applied, only {@link NodeRestores} tells. */
interface RestoreRecord {
  readonly format: 1
  readonly state: RestoreContent
  /** The name of the archive. */
  readonly backup: string
  /** The moment of its state, ISO 8601. */
  readonly moment: string
  /** The folders of the restore on the disks of storages: absolute paths. */
  readonly elsewhere: readonly string[]
  readonly moves?: readonly RestoreMove[]
  readonly differences?: RestoreDifferences
  /** Bytes of the former data. */
  readonly previousBytes?: number
}

/** The former data that an applied restore has kept. */
interface PreviousData {
  /** The name of the restore, which is its folder's. */
  readonly restore: string
  /** The backup that took its place. */
  readonly backup: string
  readonly bytes: number
}

const recordName = 'restore.json'

/** The name of the record while the restore is removed: what is left is not complete. A full disk has room for a new name. */
const removedName = 'removed.json'

/**
 * The folder of one restore: `<data>/restore/<name>`, with `unpacked` until the archive is verified, `new` with what the next
 * start puts in place, `previous` with what was there before, and `configuration` and `left-out` for people. Storages outside of
 * the data folder have a folder of the same name, `<root>/.nodekeep/restore/<name>`, with `new` and `previous`.
 */
export class RestoreFolder {
  readonly name: string
  readonly path: string
  record: RestoreRecord

  constructor(name: string, path: string, record: RestoreRecord) {
    this.name = name
    this.path = path
    this.record = record
  }

  /** Changes the record durably. */
  async note(changes: Partial<RestoreRecord>): Promise<void> {
    const record = { ...this.record, ...changes }
    await writeJson(join(this.path, recordName), record)
    this.record = record
  }

  /** Removes everything of the restore. If it is interrupted, the next clean-up goes on. */
  async remove(): Promise<void> {
    if (existsSync(join(this.path, recordName))) {
      await rename(join(this.path, recordName), join(this.path, removedName))
      await syncFolder(this.path)
    }
    for (const folder of this.record.elsewhere) {
      await removeFolder(folder)
      await rmdir(dirname(folder)).catch(() => {})
    }
    if (!existsSync(this.path)) return
    for (const name of await readdir(this.path)) {
      if (name !== removedName) await removeTree(this.path, name)
    }
    await rm(this.path, { recursive: true, force: true })
  }

  /** Keeps nothing of a restore that was applied but the former data and what people may need. */
  async finish(): Promise<void> {
    const folders = [this.path, ...this.record.elsewhere]
    for (const folder of folders) if (existsSync(join(folder, 'new'))) await removeTree(folder, 'new')
    let previousBytes = 0
    for (const folder of folders) previousBytes += await bytesIn(join(folder, 'previous'))
    await this.note({ state: 'applied', previousBytes })
  }
}

/** The restores of a node. One at a time is prepared, planned or removed: take the lock before. */
export class RestoreFolders {
  readonly #folder: string
  readonly #restores: Pick<NodeRestores, 'state'>

  constructor(dataFolder: string, restores: Pick<NodeRestores, 'state'>) {
    this.#folder = join(dataFolder, 'restore')
    this.#restores = restores
  }

  /** @throws NodekeepError CONFLICT while another call, in whatever process, has the lock */
  lock(): Disposable {
    return lockRestores(this.#folder)
  }

  /** Makes the folder of a new restore, and `new` in the folders of storages. */
  async begin(
    { backup, moment }: Pick<RestoreRecord, 'backup' | 'moment'>,
    roots: readonly string[],
  ): Promise<RestoreFolder> {
    const stem = backup.replace(/\.tar\.gz$/, '')
    const within = (name: string) => roots.map((root) => join(root, '.nodekeep', 'restore', name))
    // The folder of the one that was applied may be gone.
    const { applied } = await this.#restores.state()
    const isTaken = (name: string) =>
      name === applied || [join(this.#folder, name), ...within(name)].some((path) => existsSync(path))
    let name = stem
    for (let count = 2; isTaken(name); count++) name = `${stem}-${count}`
    const elsewhere = within(name)
    const path = join(this.#folder, name)
    await makeFolder(path)
    // The lock has made the folder of all restores.
    await syncFolder(dirname(this.#folder))
    const folder = new RestoreFolder(name, path, { format: 1, state: 'unpacking', backup, moment, elsewhere })
    try {
      await folder.note({})
      for (const one of [path, ...elsewhere]) await makeFolder(join(one, 'new'))
      await mkdir(join(path, 'unpacked'), { mode: 0o700 })
    } catch (error) {
      await folder.remove()
      throw error
    }
    return folder
  }

  /** Returns a restore that is ready, or planned already; `null` for every other name. */
  async ready(name: string): Promise<RestoreFolder | null> {
    const { applied } = await this.#restores.state()
    const found = (await this.#list()).find((folder) => folder.name === name)
    return found !== undefined && name !== applied && isReady(found) ? found : null
  }

  /** Returns the restore that the next start applies; `null` without one. */
  async planned(): Promise<RestoreFolder | null> {
    const { planned } = await this.#restores.state()
    return (await this.#list()).find(({ name }) => name === planned) ?? null
  }

  /**
   * Removes the restores that no start will apply: those that were interrupted, and those that were prepared and are not planned.
   *
   * @returns the names of the backups
   */
  async removeUnplanned(): Promise<string[]> {
    const { planned, applied } = await this.#restores.state()
    const removed: string[] = []
    for (const folder of await this.#list()) {
      const { name, record } = folder
      if (name === planned || name === applied || record.state === 'applied') continue
      removed.push(record.backup)
      await folder.remove()
    }
    return removed
  }

  /**
   * Keeps the former data of the restore that a start has applied. Call it before another restore takes its place as the last one.
   *
   * @returns the restore; `null` if there is none, or if this was done before
   */
  async finish(): Promise<RestoreFolder | null> {
    const { applied } = await this.#restores.state()
    const found = (await this.#list()).find(({ name }) => name === applied)
    if (found === undefined || !isReady(found)) return null
    await found.finish()
    return found
  }

  /** The former data of all applied restores. */
  async previous(): Promise<PreviousData[]> {
    return (await this.#list())
      .filter(({ record }) => record.state === 'applied')
      .map(({ name, record }) => ({ restore: name, backup: record.backup, bytes: record.previousBytes ?? 0 }))
  }

  /** Deletes the former data of all applied restores. */
  async forgetPrevious(): Promise<void> {
    for (const folder of await this.#list()) if (folder.record.state === 'applied') await folder.remove()
  }

  async #list(): Promise<RestoreFolder[]> {
    const entries = existsSync(this.#folder) ? await readdir(this.#folder, { withFileTypes: true }) : []
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    return await Promise.all(
      folders.sort().map(async (name) => {
        const path = join(this.#folder, name)
        return new RestoreFolder(name, path, await readRecord(path, name))
      }),
    )
  }
}

function isReady({ record }: RestoreFolder): boolean {
  return record.state === 'ready' || record.state === 'planned'
}

async function readRecord(path: string, name: string): Promise<RestoreRecord> {
  const record = await readJson<RestoreRecord>(join(path, recordName)).catch(() => null)
  if (record !== null) return record
  // The process ended before it had written the record, or while it removed the folder.
  const fresh: RestoreRecord = { format: 1, state: 'unpacking', backup: name, moment: '', elsewhere: [] }
  const removed = await readJson<Partial<RestoreRecord>>(join(path, removedName))
  return { ...fresh, ...removed, state: 'unpacking' }
}

async function removeTree(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  if (lstatSync(path).isDirectory()) await emptyFolder(path)
  await rm(path, { recursive: true, force: true })
}

async function removeFolder(path: string): Promise<void> {
  if (existsSync(path)) await removeTree(dirname(path), path.slice(dirname(path).length + 1))
}

/** The bytes of all files in a folder; 0 if there is none. */
async function bytesIn(path: string): Promise<number> {
  const found = withShortPath(path, (short) => lstatSync(short, { throwIfNoEntry: false }))
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.size
  let bytes = 0
  for (const name of withShortPath(path, (short) => readdirSync(short)))
    bytes += await bytesIn(`${path}/${name}`)
  await nextTurn()
  return bytes
}
