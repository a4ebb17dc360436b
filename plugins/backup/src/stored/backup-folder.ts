import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { makeFolder, syncFolder } from '@nodekeep/plugin-sdk/durable-files'
import { readHeader } from '../archive/read-archive.ts'

/**
 * Returns the path of a backup as a person names it: a path, or the name of one in the folder `backups` of the node's data.
 *
 * @param name as written on the command line
 */
export function namedBackup(name: string, nodeDataDir: string): string {
  const path = resolve(name)
  const stored = join(nodeDataDir, 'backups', name)
  return existsSync(path) || name !== basename(name) || !existsSync(stored) ? path : stored
}

/** A backup in the folder. */
export interface StoredBackup {
  readonly filename: string
  /** Bytes. */
  readonly size: number
  /** The moment of its state. */
  readonly created: Date
  readonly encrypted: boolean
  /** The number of things that it leaves out. */
  readonly omitted: number
}

/** `backup-<YYYYMMDD>-<HHMMSS>.tar.gz`, in UTC. */
const names = /^backup-\d{8}-\d{6}\.tar\.gz$/

/** The prefix of the name of an archive until it is whole. */
const unfinished = '.unfinished-'

/** The prefix of unfinished archives of this process. All other unfinished archives are left from a crash. */
const unfinishedHere = `${unfinished}${randomUUID()}-`

/** Called once for each file that is named like a backup and cannot be read, with the reason for people. */
type OnUnreadable = (filename: string, reason: string) => void

/** The folder of the finished backups. An archive gets its name there when it is whole, so a listed backup is never a part. */
export class BackupFolder {
  readonly path: string
  readonly #onUnreadable: OnUnreadable
  readonly #unreadable = new Set<string>()
  /** The facts that were read from archives, by name and time of change. */
  readonly #known = new Map<string, StoredBackup>()

  constructor(path: string, onUnreadable: OnUnreadable = () => {}) {
    this.path = path
    this.#onUnreadable = onUnreadable
  }

  /** Lists the backups, newest first. Those that cannot be read are left out, and files that are not backups. */
  async list(): Promise<StoredBackup[]> {
    const filenames = (await this.#filenames()).filter((name) => names.test(name))
    const found = await Promise.all(filenames.map((filename) => this.#describe(filename)))
    return found
      .filter((backup) => backup !== null)
      .sort((a, b) => b.created.getTime() - a.created.getTime() || (a.filename < b.filename ? 1 : -1))
  }

  /**
   * Returns the path of a backup.
   *
   * @throws NodekeepError NOT_FOUND, also for every name that no backup can have
   */
  async find(filename: string): Promise<string> {
    const path = join(this.path, filename)
    const isThere = names.test(filename) && (await exists(path))
    if (isThere) return path
    throw new NodekeepError(
      'NOT_FOUND',
      'There is no backup with this name. `GET /api/backup/list` names all backups.',
    )
  }

  /** Returns the bytes of the backup with the latest name, without reading it; 0 if there is none. */
  async newestSize(): Promise<number> {
    const filenames = (await this.#filenames()).filter((name) => names.test(name))
    const newest = filenames.sort().at(-1)
    if (newest === undefined) return 0
    return stat(join(this.path, newest)).then(
      ({ size }) => size,
      () => 0,
    )
  }

  /** @throws NodekeepError NOT_FOUND */
  async remove(filename: string): Promise<void> {
    await rm(await this.find(filename))
    this.#known.clear()
    await syncFolder(this.path)
  }

  /** Returns a path for an archive that is not whole yet. */
  async newFile(): Promise<string> {
    await makeFolder(this.path)
    return join(this.path, `${unfinishedHere}${Date.now()}`)
  }

  /**
   * Gives a whole archive its name, durably. Of two backups of one second, the later one is named after the next free second.
   *
   * @returns the name
   */
  async publish(file: string, moment: Date): Promise<string> {
    let second = moment.getTime()
    while (await exists(join(this.path, nameOf(new Date(second))))) second += 1000
    const filename = nameOf(new Date(second))
    await rename(file, join(this.path, filename))
    await syncFolder(this.path)
    return filename
  }

  /** Removes the archives that another process left unfinished. Call it while this process has the data folder. */
  async removeUnfinished(): Promise<void> {
    for (const name of await this.#filenames()) {
      if (name.startsWith(unfinished) && !name.startsWith(unfinishedHere))
        await rm(join(this.path, name), { force: true, recursive: true })
    }
  }

  async #filenames(): Promise<string[]> {
    try {
      return await readdir(this.path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }

  /** Returns null for a file that cannot be read, or that is gone. */
  async #describe(filename: string): Promise<StoredBackup | null> {
    const path = join(this.path, filename)
    try {
      const { size, mtimeMs } = await stat(path)
      const key = `${filename} ${size} ${mtimeMs}`
      let known = this.#known.get(key)
      if (known === undefined) {
        const { header, encrypted } = await readHeader(path)
        const { created, omitted } = header
        known = { filename, size, created: new Date(created), encrypted, omitted: omitted.length }
        this.#known.set(key, known)
      }
      this.#unreadable.delete(filename)
      return known
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'NOT_FOUND' || this.#unreadable.has(filename)) return null
      this.#unreadable.add(filename)
      this.#onUnreadable(filename, message)
      return null
    }
  }
}

/** Returns the name of a backup by the moment of its state. */
export function nameOf(moment: Date): string {
  const [date, time] = moment.toISOString().slice(0, 19).split('T') as [string, string]
  return `backup-${date.replaceAll('-', '')}-${time.replaceAll(':', '')}.tar.gz`
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
