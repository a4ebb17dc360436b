import { constants, existsSync, renameSync, rmSync } from 'node:fs'
import { copyFile, mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'
import { findDatabases } from '../state/plugin-databases.ts'

/**
 * A write-ahead log has committed transactions that are not in the database file yet, and a rollback journal has what an interrupted
 * transaction has overwritten in it. So both belong to the database.
 */
const logSuffixes = ['-wal', '-journal']

/** Returns the paths of all databases of a data folder, relative to it. */
export function databasesIn(data: string): string[] {
  return findDatabases(data).flatMap(({ path }) => (existsSync(join(data, path)) ? [path] : []))
}

/**
 * Copies databases that no process uses. The copies are on the disk when this returns, and replace former ones in their place. File
 * systems that can share the content of two files take no time and no space for it.
 *
 * @param draft the folder in which they are made; an interruption leaves it behind
 * @throws Error of the file system, for example if the disk is full
 */
export async function copyDatabases(
  data: string,
  databases: readonly string[],
  copies: string,
  draft: string,
): Promise<void> {
  rmSync(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  const files = databases
    .flatMap((path) => [path, ...logSuffixes.map((suffix) => path + suffix)])
    .filter((path) => existsSync(join(data, path)))
  const folders = new Set(files.map((path) => dirname(join(draft, path))))
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 })
  await Promise.all(files.map((path) => copyDurably(join(data, path), join(draft, path))))
  for (const folder of folders) syncFolderSync(folder)
  rmSync(copies, { recursive: true, force: true })
  renameSync(draft, copies)
  syncFolderSync(dirname(copies))
}

/**
 * Puts copies in the place of the databases, and removes databases that were made later. If it was interrupted, the next call goes
 * on. Without the folder of the copies, it was done before and does nothing.
 */
export async function putBackDatabases(
  data: string,
  databases: readonly string[],
  copies: string,
): Promise<void> {
  if (!existsSync(copies)) return
  for (const path of databasesIn(data)) {
    if (!databases.includes(path)) removeDatabase(join(data, path))
  }
  for (const path of databases) {
    const target = join(data, path)
    const copy = join(copies, path)
    if (existsSync(copy)) {
      // The log of the newer version would be applied to the older database.
      removeLogs(target)
      await move(copy, target)
    }
    for (const suffix of logSuffixes) {
      if (existsSync(copy + suffix)) await move(copy + suffix, target + suffix)
    }
  }
  for (const folder of new Set(databases.map((path) => dirname(join(data, path))))) syncFolderSync(folder)
  rmSync(copies, { recursive: true, force: true })
  syncFolderSync(dirname(copies))
}

function removeDatabase(file: string): void {
  removeLogs(file)
  rmSync(file)
}

function removeLogs(file: string): void {
  for (const suffix of [...logSuffixes, '-shm']) rmSync(file + suffix, { force: true })
}

/** Moves a file, also to another disk. */
async function move(from: string, to: string): Promise<void> {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    const draft = `${to}.new`
    await copyDurably(from, draft)
    renameSync(draft, to)
    syncFolderSync(dirname(to))
    rmSync(from)
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  const file = await open(to, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
