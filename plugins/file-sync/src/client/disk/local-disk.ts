import { createHash, randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import {
  access,
  appendFile,
  chmod,
  constants,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { nameWith } from '../conflict-name.ts'
import type { Disk, Incoming, LocalContent, LocalEntry, LocalFileEntry, RemoteFileEntry } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import { folderOf, foldersAbove, inFolder, nameOf, ownFolder } from '../sync-paths.ts'
import { hasCode, withDisk } from './disk-failures.ts'
import { fileEntry } from './file-identity.ts'
import { FolderSync } from './folder-sync.ts'
import { openContent } from './local-content.ts'
import { watchDisk } from './watch-disk.ts'

/** Milliseconds within which two writes may get the same time. A file is not read before they are over. */
const timeStepMs = 20

/** Entries of a folder whose facts are read together. */
const together = 32

/** Bytes of the disk that downloads leave free: a node that is hostile could fill it. */
const leftFree = 64 * 1024 * 1024

/** Bytes of a download after which the free space is checked again, because other programs fill the disk too. */
const checkBytes = 16 * 1024 * 1024

/** Milliseconds for which a check of the free space also holds for other small files, of this number of bytes at most. */
const checkMs = 100
const mostSmall = 1024 * 1024

/** Days on which the client runs, for which removed files stay in the trash. */
const trashDays = 30

/** Bytes of the longest name in the trash. Of a path that is almost too long for the disk, the whole would be too long. */
const longestInTrash = 64

/** The file in each folder of the trash with the former paths of the files. */
const pathsFile = 'paths.jsonl'

const noLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']

/** Names that Windows cannot have: https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const unfitOnWindows = /[<>:"|?*\p{Cc}]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|^nodeke~\d/iu

/** The synced folder on the disk of the machine. */
export class LocalDisk implements Disk {
  readonly #root: string
  readonly #own: string
  readonly #incoming: string
  readonly #trash: string
  /** The folder of the trash for files that are removed now, and today's date. */
  #today = { date: '', folder: '' }
  /** Until when small files need no check of the free space, in milliseconds of `performance.now()`. */
  #hasRoomUntil = 0
  readonly #isCaseSensitive: boolean
  readonly #device: bigint
  readonly #inode: bigint
  readonly #sync = new FolderSync()
  readonly #onTrouble: (message: string) => void
  /** The names of the disk that are not in NFC, by the path in NFC. */
  readonly #spellings = new Map<string, string>()

  private constructor(
    root: string,
    own: BigIntStats,
    isCaseSensitive: boolean,
    onTrouble: (message: string) => void,
  ) {
    this.#root = root
    this.#own = join(root, ownFolder)
    this.#incoming = join(this.#own, 'incoming')
    this.#trash = join(this.#own, 'trash')
    this.#device = own.dev
    this.#inode = own.ino
    this.#isCaseSensitive = isCaseSensitive
    this.#onTrouble = onTrouble
  }

  /**
   * Opens a folder, and makes the client's own folder in it.
   *
   * @param onTrouble takes a sentence for the person, such as that the system has no watches left
   */
  static async open(root: string, onTrouble: (message: string) => void = () => {}): Promise<LocalDisk> {
    return withDisk(root, () => LocalDisk.#open(root, onTrouble))
  }

  static async #open(root: string, onTrouble: (message: string) => void): Promise<LocalDisk> {
    const own = join(root, ownFolder)
    const incoming = join(own, 'incoming')
    await mkdir(own, { recursive: true, mode: 0o700 })
    // A killed client may have left unfinished files.
    await rm(incoming, { recursive: true, force: true })
    await mkdir(incoming, { mode: 0o700 })
    await writeFile(join(incoming, 'Probe'), '')
    const isCaseSensitive = await lstat(join(incoming, 'probe')).then(
      () => false,
      () => true,
    )
    await unlink(join(incoming, 'Probe'))
    return new LocalDisk(root, await lstat(own, { bigint: true }), isCaseSensitive, onTrouble)
  }

  nameKey(name: string): string {
    return this.#isCaseSensitive ? name : name.toLowerCase()
  }

  unfitName(name: string): string | null {
    const isUnfit = process.platform === 'win32' && unfitOnWindows.test(name)
    return isUnfit ? `Windows cannot have the name "${name}".` : null
  }

  async stat(path: string): Promise<LocalEntry | null> {
    return withDisk(path, async () => {
      if (await this.#isBehindLink(path)) return { type: 'other', reason: 'A symbolic link leads there.' }
      // Another spelling of the name would be found, too, and one of the folders above.
      if (!this.#isCaseSensitive && !(await this.#hasFoldersOf(path))) return null
      const mayDiffer = !this.#isCaseSensitive || /[^\0-\x7f]/.test(path)
      if (mayDiffer) return (await this.list(folderOf(path)))?.get(nameOf(path)) ?? null
      const entry = await this.#entryAt(this.#real(path))
      if (entry === null) await this.#checkRoot()
      return entry
    })
  }

  async list(folder: string): Promise<ReadonlyMap<string, LocalEntry> | null> {
    return withDisk(folder, async () => {
      const real = this.#real(folder)
      const names = await readdir(real, { encoding: 'buffer' }).catch((error: unknown) => {
        if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
        throw error
      })
      if (folder === '/' || names === null) await this.#checkRoot()
      if (names === null) return null
      // Each day counts. The next write reports a disk that is full or read-only.
      if (folder === '/') await this.#trashOfToday().catch(() => {})
      const found = new Map<string, LocalEntry>()
      for (let start = 0; start < names.length; start += together) {
        await Promise.all(
          names.slice(start, start + together).map((name) => this.#listOne(folder, real, name, found)),
        )
      }
      return found
    })
  }

  async watch(listener: (paths: readonly string[]) => void, signal: AbortSignal): Promise<void> {
    await watchDisk({
      root: this.#root,
      own: this.#own,
      onChange: listener,
      onTrouble: this.#onTrouble,
      signal,
    })
  }

  async read(path: string, file: LocalFileEntry): Promise<LocalContent> {
    return withDisk(path, () => openContent(this.#real(path), file))
  }

  async receive(
    content: AsyncIterable<Uint8Array>,
    { size: announced, modified }: Pick<RemoteFileEntry, 'size' | 'modified'>,
  ): Promise<Incoming> {
    return withDisk('An incoming file', async () => {
      await this.#checkRoom(announced)
      const file = join(this.#incoming, randomUUID())
      const hash = createHash('sha256')
      let size = 0
      let checkedAt = 0
      const handle = await open(file, 'wx')
      try {
        for await (const chunk of content) {
          hash.update(chunk)
          size += chunk.length
          await handle.writeFile(chunk)
          if (size - checkedAt < checkBytes) continue
          checkedAt = size
          await this.#checkRoom(0)
        }
        // Node replaces a negative number, a time before 1970, by the present.
        await handle.utimes(new Date(modified), new Date(modified))
        await handle.sync()
      } catch (error) {
        await rm(file, { force: true })
        throw error
      } finally {
        await handle.close()
      }
      const discard = async () => {
        if (files.delete(incoming)) await rm(file, { force: true })
      }
      const incoming = { sha256: hash.digest('hex'), size, discard }
      files.set(incoming, file)
      return incoming
    })
  }

  async place(
    incoming: Incoming,
    path: string,
    expected: LocalFileEntry | null,
  ): Promise<LocalFileEntry | null> {
    return withDisk(path, async () => {
      const file = files.get(incoming)
      if (file === undefined) throw new TypeError('The content is not of this disk.')
      await this.#checkRoot()
      await this.#makeFolders(path)
      const real = this.#real(path)
      const { moveIdentity } = fileEntry(await lstat(file, { bigint: true }))
      if (expected === null) await moveToFreeName(file, real)
      else await this.#replace(file, real, path, expected)
      files.delete(incoming)
      await this.#sync.sync(dirname(real))
      const stats = await this.#stats(real)
      const entry = stats === null ? null : fileEntry(stats)
      return entry?.moveIdentity === moveIdentity ? entry : null
    })
  }

  async makeFolder(path: string): Promise<void> {
    await withDisk(path, async () => {
      await this.#checkRoot()
      await this.#makeFolders(inFolder(path, 'any'))
    })
  }

  async trash(path: string, file: LocalFileEntry): Promise<void> {
    await withDisk(path, async () => {
      const real = this.#real(path)
      if (await this.#isBehindLink(path)) throw changed(path)
      await this.#verify(real, path, file)
      const folder = await this.#trashOfToday()
      const name = nameWith(nameOf(path), ` ${randomUUID().slice(0, 8)}`, longestInTrash)
      const line = { name, path, removed: new Date(Date.now()).toISOString() }
      await appendFile(join(folder, pathsFile), `${JSON.stringify(line)}\n`)
      const aside = join(folder, name)
      await rename(real, aside)
      const { moveIdentity } = fileEntry(await lstat(aside, { bigint: true }))
      if (moveIdentity === file.moveIdentity) return
      await moveToFreeName(aside, real)
      throw changed(path)
    })
  }

  async removeFolder(path: string): Promise<void> {
    await withDisk(path, async () => {
      if (await this.#isBehindLink(path)) throw changed(path)
      await rmdir(this.#real(path))
    })
  }

  async move(path: string, destination: string, file: LocalFileEntry | null): Promise<LocalEntry> {
    return withDisk(path, async () => {
      const real = this.#real(path)
      if (await this.#isBehindLink(path)) throw changed(path)
      if (file !== null) await this.#verify(real, path, file)
      await this.#makeFolders(destination)
      const target = this.#real(destination)
      if (file === null) await moveFolder(real, target)
      else await moveToFreeName(real, target)
      await this.#sync.sync(dirname(target))
      await this.#sync.sync(dirname(real))
      const entry = await this.#entryAt(target)
      const isSame = file === null || (entry?.type === 'file' && entry.moveIdentity === file.moveIdentity)
      if (entry === null || !isSame) throw changed(path)
      return entry
    })
  }

  /**
   * Puts a file over another one. The former file keeps a second name until it is certain that no program has written to it at the
   * last moment.
   */
  async #replace(file: string, real: string, path: string, expected: LocalFileEntry): Promise<void> {
    const { mode } = await this.#verify(real, path, expected)
    await chmod(file, Number(mode) & 0o777)
    const aside = join(this.#incoming, randomUUID())
    const isLinked = await link(real, aside).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, ...noLinks)) return false
        throw error
      },
    )
    await rename(file, real)
    if (!isLinked) return
    const { moveIdentity } = fileEntry(await lstat(aside, { bigint: true }))
    if (moveIdentity === expected.moveIdentity) await unlink(aside)
    else
      await moveToFreeName(aside, join(dirname(real), `rescued ${randomUUID().slice(0, 8)} ${nameOf(path)}`))
  }

  async #verify(real: string, path: string, file: LocalFileEntry): Promise<BigIntStats> {
    const stats = await lstat(real, { bigint: true })
    if (!stats.isFile() || fileEntry(stats).identity !== file.identity) throw changed(path)
    return stats
  }

  /** Makes the folders above a path. A symbolic link there could point out of the folder. */
  async #makeFolders(path: string): Promise<void> {
    for (const folder of foldersAbove(path)) {
      const real = this.#real(folder)
      let there = await this.#stats(real)
      if (there === null) {
        await mkdir(real).catch((error: unknown) => {
          // Another step makes the same folder.
          if (!hasCode(error, 'EEXIST')) throw error
        })
        await this.#sync.sync(dirname(real))
        there = await this.#stats(real)
      }
      if (there?.isDirectory() !== true) throw changed(folder)
    }
  }

  async #listOne(folder: string, real: string, bytes: Buffer, found: Map<string, LocalEntry>): Promise<void> {
    const stored = bytes.toString()
    const name = stored.normalize('NFC')
    const path = inFolder(folder, name)
    const isText = Buffer.from(stored).equals(bytes)
    const entry = isText ? await this.#entryAt(join(real, stored)) : notText
    if (entry === null) return
    if (found.has(name)) {
      found.set(name, { type: 'other', reason: `Two names in ${folder} are the same in Unicode: "${name}".` })
      return
    }
    if (stored === name) this.#spellings.delete(path)
    else this.#spellings.set(path, stored)
    found.set(name, entry)
  }

  /** An entry whose facts cannot be read is left alone, and others are synced. */
  async #entryAt(real: string): Promise<LocalEntry | null> {
    return this.#readEntry(real).catch((error: unknown) => {
      if (!hasCode(error, 'EACCES', 'EPERM', 'ENAMETOOLONG', 'ELOOP')) throw error
      return { type: 'other', reason: `It cannot be read: ${(error as Error).message}` }
    })
  }

  async #readEntry(real: string): Promise<LocalEntry | null> {
    let stats = await this.#stats(real)
    const age = stats === null ? timeStepMs : Date.now() - Number(stats.ctimeMs)
    if (stats?.isFile() && age >= 0 && age < timeStepMs) {
      await delay(timeStepMs + 5 - age)
      stats = await this.#stats(real)
    }
    if (stats === null) return null
    if (stats.isFile()) return fileEntry(stats)
    if (!stats.isDirectory()) return { type: 'other', reason: 'Only files and folders are synced.' }
    if (stats.dev !== this.#device) return { type: 'other', reason: 'The folder is on another disk.' }
    const isReadable = await access(real, constants.R_OK | constants.X_OK).then(
      () => true,
      () => false,
    )
    if (!isReadable) return { type: 'other', reason: 'The folder cannot be read.' }
    const isOfClient = await lstat(join(real, nameOf(ownFolder))).then(
      () => true,
      () => false,
    )
    return isOfClient ? ofClient : { type: 'directory' }
  }

  async #stats(real: string): Promise<BigIntStats | null> {
    return lstat(real, { bigint: true }).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
      throw error
    })
  }

  /** Whether a folder above a path is a symbolic link, so that the path is outside of the synced folder. */
  async #isBehindLink(path: string): Promise<boolean> {
    for (const folder of foldersAbove(path)) {
      const stats = await this.#stats(this.#real(folder))
      if (stats?.isDirectory() !== true) return stats?.isSymbolicLink() === true
    }
    return false
  }

  /** Whether the folders above a path are there, with this spelling. */
  async #hasFoldersOf(path: string): Promise<boolean> {
    for (const folder of foldersAbove(path)) {
      const names = await readdir(this.#real(folderOf(folder))).catch((error: unknown) => {
        if (hasCode(error, 'ENOENT', 'ENOTDIR')) return []
        throw error
      })
      if (names.some((name) => name.normalize('NFC') === nameOf(folder))) continue
      await this.#checkRoot()
      return false
    }
    return true
  }

  /** An unmounted disk leaves an empty folder behind. It must not look as if all files were deleted. */
  async #checkRoot(): Promise<void> {
    const own = await stat(this.#own, { bigint: true }).catch(() => null)
    if (own?.dev === this.#device && own.ino === this.#inode) return
    throw new SyncFailure(
      'stop',
      `${this.#root} is not the folder that was synced: its folder "${nameOf(ownFolder)}" is gone. Mount its disk and start again.`,
    )
  }

  /** The path on the disk. */
  #real(path: string): string {
    if (path === '/') return this.#root
    if (this.#spellings.size === 0) return join(this.#root, path)
    let real = this.#root
    for (const each of [...foldersAbove(path), path])
      real = join(real, this.#spellings.get(each) ?? nameOf(each))
    return real
  }

  async #checkRoom(bytes: number): Promise<void> {
    if (bytes <= mostSmall && performance.now() < this.#hasRoomUntil) return
    const { bavail, bsize } = await statfs(this.#incoming)
    this.#hasRoomUntil = performance.now() + checkMs
    if (bavail * bsize >= bytes + leftFree) return
    this.#hasRoomUntil = 0
    throw new SyncFailure('unavailable', 'The disk is full. Downloads leave 64 MiB of it free.')
  }

  /**
   * The folder for what is removed now, such as `12 2026-11-24`. Each day on which the client runs has one, with a number that grows by
   * one, and the folders before the last 30 are removed. So a clock that is wrong for a short time adds a day, but never ages the others.
   */
  async #trashOfToday(): Promise<string> {
    const date = new Date(Date.now()).toISOString().slice(0, 10)
    const { date: known, folder: there } = this.#today
    if (date === known && (await this.#stats(there)) !== null) return there
    // Somebody may have removed it. Without the client's own folder, it is not made.
    await mkdir(this.#trash, { mode: 0o700 }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
    const names = await readdir(this.#trash)
    const days = names
      .flatMap((name) => {
        const [, number, of] = /^(\d+) ([\d-]+)$/.exec(name) ?? []
        return number === undefined ? [] : { name, number: Number(number), date: of }
      })
      .sort((one, other) => one.number - other.number)
    const last = days.at(-1)
    // A clock that goes back and forth between two days has begun both of them already.
    const isKnown = days.some((day) => day.date === date)
    const number = (last?.number ?? 0) + (isKnown ? 0 : 1)
    const folder = join(this.#trash, isKnown && last ? last.name : `${number} ${date}`)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    for (const day of days) {
      if (day.number < number - trashDays)
        await rm(join(this.#trash, day.name), { recursive: true, force: true })
    }
    // A former version has made a folder for each file.
    const others = names.filter((name) => !days.some((day) => day.name === name))
    for (const name of others) await rename(join(this.#trash, name), join(folder, name))
    this.#today = { date, folder }
    return folder
  }
}

const ofClient: LocalEntry = {
  type: 'other',
  reason: `It has a folder "${nameOf(ownFolder)}": another client syncs it, or did. Remove that folder to sync it here.`,
}
const notText: LocalEntry = { type: 'other', reason: 'The name is no text in UTF-8.' }

const files = new WeakMap<Incoming, string>()

/** Moves a file to a name where nothing is. A rename would replace what another program has put there. */
async function moveToFreeName(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!hasCode(error, ...noLinks)) throw error
    return moveFolder(from, to)
  }
  await unlink(from)
}

async function moveFolder(from: string, to: string): Promise<void> {
  const isFree = await lstat(to).then(
    () => false,
    (error: unknown) => hasCode(error, 'ENOENT'),
  )
  if (!isFree) throw changed(to)
  await rename(from, to)
}

function changed(path: string): SyncFailure {
  return new SyncFailure('changed', `${path} has changed on the disk.`)
}
