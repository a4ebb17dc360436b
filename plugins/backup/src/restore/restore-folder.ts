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
 * The content of the folder of a restore: a part of its archive; all of it, verified; the former data, after the restore; what a
 * removal has left. Earlier releases wrote `planned` in place of `ready` when the restore was planned.
 */
type RestoreContent = 'unpacking' | 'ready' | 'planned' | 'applied' | 'removed'

/**
 * The content of `restore.json`. Whether the restore is planned, and whether it was applied, only {@link NodeRestores} tells. Whether
 * there is former data, only the folders `previous` tell: it stays, also if the records are lost.
 */
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

  /** Whether there is former data: a file in `previous`. A start leaves empty folders there if it is taken back. */
  async hasPrevious(): Promise<boolean> {
    for (const folder of this.#folders()) if (await hasFiles(join(folder, 'previous'))) return true
    return false
  }

  /** Returns the bytes of the former data. */
  async previousBytes(): Promise<number> {
    if (this.record.previousBytes !== undefined) return this.record.previousBytes
    let bytes = 0
    for (const folder of this.#folders()) bytes += await bytesIn(join(folder, 'previous'))
    return bytes
  }

  /**
   * Removes the restore. If there is former data, the restore is kept for that, like one that was applied.
   *
   * @returns whether it was removed
   */
  async remove(): Promise<boolean> {
    const isKept = this.record.state !== 'removed' && (await this.hasPrevious())
    await (isKept ? this.finish() : this.forget())
    return !isKept
  }

  /** Removes everything of the restore, with its former data. If it is interrupted, the next clean-up goes on. */
  async forget(): Promise<void> {
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
    for (const folder of this.#folders()) if (existsSync(join(folder, 'new'))) await removeTree(folder, 'new')
    await this.note({ state: 'applied', previousBytes: await this.previousBytes() })
  }

  #folders(): string[] {
    return [this.path, ...this.record.elsewhere]
  }
}

/** The restores of a node. One at a time is prepared, planned or removed: take the lock before. */
export class RestoreFolders {
  readonly #folder: string
  readonly #restores: Pick<NodeRestores, 'state' | 'folders'>

  constructor(dataFolder: string, restores: Pick<NodeRestores, 'state' | 'folders'>) {
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
    const within = (name: string) => roots.map((root) => folderIn(root, name))
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
    const { planned, applied } = await this.#restores.state()
    const found = (await this.#list()).find((folder) => folder.name === name)
    if (found === undefined || name === applied || !['ready', 'planned'].includes(found.record.state))
      return null
    return name !== planned && (await found.hasPrevious()) ? null : found
  }

  /** Returns the restore that the next start applies; `null` without one. */
  async planned(): Promise<RestoreFolder | null> {
    const { planned } = await this.#restores.state()
    return (await this.#list()).find(({ name }) => name === planned) ?? null
  }

  /**
   * Removes the restores that no start will apply: those that were interrupted, and those that were prepared and are not planned.
   * Former data stays.
   *
   * @returns the names of the backups whose restores were removed
   */
  async removeUnplanned(): Promise<string[]> {
    const { planned, applied } = await this.#restores.state()
    const removed: string[] = []
    for (const folder of await this.#list()) {
      const { name, record } = folder
      if (name === planned || record.state === 'applied') continue
      if (name === applied && record.state !== 'removed') continue
      if (await folder.remove()) removed.push(record.backup)
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
    if (found === undefined || ['applied', 'removed'].includes(found.record.state)) return null
    await found.finish()
    return found
  }

  /** The former data that restores have left. A start that goes on with the planned one still needs that one's. */
  async previous(): Promise<PreviousData[]> {
    const kept: PreviousData[] = []
    for (const folder of await this.#withPrevious())
      kept.push({ restore: folder.name, backup: folder.record.backup, bytes: await folder.previousBytes() })
    return kept
  }

  /**
   * Deletes the former data that {@link previous} returns. It takes the lock itself.
   *
   * @throws NodekeepError CONFLICT while another call, in whatever process, has the lock
   */
  async forgetPrevious(): Promise<void> {
    using _lock = this.lock()
    for (const folder of await this.#withPrevious()) await folder.forget()
  }

  async #withPrevious(): Promise<RestoreFolder[]> {
    const { planned } = await this.#restores.state()
    const found: RestoreFolder[] = []
    for (const folder of await this.#list()) {
      const { state } = folder.record
      if (folder.name === planned || state === 'removed') continue
      if (state === 'applied' || (await folder.hasPrevious())) found.push(folder)
    }
    return found
  }

  async #list(): Promise<RestoreFolder[]> {
    const entries = existsSync(this.#folder) ? await readdir(this.#folder, { withFileTypes: true }) : []
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    return await Promise.all(
      folders.sort().map(async (name) => {
        const path = join(this.#folder, name)
        return new RestoreFolder(name, path, await this.#readRecord(path, name))
      }),
    )
  }

  async #readRecord(path: string, name: string): Promise<RestoreRecord> {
    const record = await readRecord(join(path, recordName))
    if (record !== null) return record
    // The process ended while it removed the folder, or before it had written the record; or the record is damaged.
    const removed = await readRecord(join(path, removedName))
    if (removed !== null) return { ...removed, state: 'removed' }
    const roots = (await this.#restores.folders()).map((folder) => folder.path)
    const elsewhere = roots.map((root) => folderIn(root, name)).filter((folder) => existsSync(folder))
    return { format: 1, state: 'unpacking', backup: name, moment: '', elsewhere }
  }
}

/** Returns `null` if there is no record, or a damaged one. */
async function readRecord(file: string): Promise<RestoreRecord | null> {
  const record = await readJson<RestoreRecord>(file).catch(() => null)
  return Array.isArray(record?.elsewhere) ? record : null
}

/** Returns the folder of a restore in the folder of a storage. */
function folderIn(root: string, name: string): string {
  return join(root, '.nodekeep', 'restore', name)
}

async function removeTree(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  if (lstatSync(path).isDirectory()) await emptyFolder(path)
  await rm(path, { recursive: true, force: true })
}

async function removeFolder(path: string): Promise<void> {
  if (existsSync(path)) await removeTree(dirname(path), path.slice(dirname(path).length + 1))
}

/** Whether there is a file in a folder, or in a folder below it. */
async function hasFiles(path: string): Promise<boolean> {
  const found = withShortPath(path, (short) => lstatSync(short, { throwIfNoEntry: false }))
  if (found === undefined) return false
  if (!found.isDirectory()) return true
  for (const name of withShortPath(path, (short) => readdirSync(short)))
    if (await hasFiles(`${path}/${name}`)) return true
  await nextTurn()
  return false
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
