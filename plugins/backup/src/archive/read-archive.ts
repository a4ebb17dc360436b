import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { type ArchiveFailure, archiveFailure, emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { moduleBeside, runInThread } from '@nodekeep/plugin-sdk/threads'
import {
  bytesOf,
  type OtherPlace,
  type PublicHeader,
  type ReadSettings,
  readBeginning,
  type VerifiedBackup,
} from './read-backup.ts'
import { parseIdentity } from './recovery-key.ts'
import type { SampleRule } from './sample.ts'
import type { ExtractedUserFile, UserFilesOrder, UserFilesResult } from './user-files.ts'

/** How a backup is read, and how to follow and stop it. */
interface ReadOptions {
  /** Secret halves of recovery keys, as people give them. One of them must open an encrypted backup. */
  readonly identities?: readonly string[]
  readonly signal?: AbortSignal
  /** Receives the share of the file that was read, from 0 to 1, at most a hundred times. */
  readonly onProgress?: (share: number) => void
}

/** The limits of unpacking, and its destination. */
interface UnpackOptions {
  /** Bytes that may come out of the archive, with headers. A small file can hold terabytes. */
  readonly maxBytes: number
  /** Folders on other disks. Everything below their paths of the archive goes there. */
  readonly others?: readonly OtherPlace[]
  /** Unpacks only a part. The rest is read and checked all the same. */
  readonly sample?: SampleRule
  /** Unpacks only a file or a folder of a user. */
  readonly userFiles?: UserFilesOrder
}

interface ExtractOptions {
  /** A username, a uuid or a wallet of the backup; `null` for its owner. */
  readonly user: string | null
  /** As the user sees it, such as `/notes/hello.txt`. */
  readonly path: string
  /** Bytes that the files may have together. Default: no limit. */
  readonly maxBytes?: number
}

/**
 * Reads a backup to its end in a thread of its own, and checks everything: its structure, and the SHA-256, size and time of each
 * entry against the manifest. It writes nothing.
 *
 * Rejects with NodekeepError: NOT_FOUND; VALIDATION_ERROR when the backup is damaged, cut short, changed, of a newer format
 * or none, and when the recovery key is missing, wrong or mistyped; with the reason of the signal when it aborts.
 */
export function verifyArchive(file: string, options: ReadOptions = {}): Promise<VerifiedBackup> {
  return read({ file, folder: null, maxBytes: Number.MAX_SAFE_INTEGER }, options)
}

/**
 * Unpacks a backup into empty folders, with the times of modification, and verifies it meanwhile as {@link verifyArchive} does.
 * Files get the rights of new files. When it resolves, they survive a power cut. When it rejects, the folders are empty again.
 *
 * It also rejects with NodekeepError CONFLICT when a folder is not empty, PAYLOAD_TOO_LARGE when there is more than
 * `maxBytes`, and INSUFFICIENT_STORAGE when the disk is full.
 */
export async function unpackBackup(
  file: string,
  folder: string,
  { maxBytes, others = [], sample, userFiles, ...options }: ReadOptions & UnpackOptions,
): Promise<VerifiedBackup> {
  const folders = [folder, ...others.map((other) => other.folder)]
  for (const one of folders) {
    if ((await readdir(one)).length === 0) continue
    throw new NodekeepError('CONFLICT', `The folder for the backup ${basename(file)} is not empty.`)
  }
  try {
    const parts = { ...(sample && { sample }), ...(userFiles && { userFiles }) }
    return await read({ file, folder, others, maxBytes, ...parts }, options)
  } catch (error) {
    for (const one of folders) await emptyFolder(one)
    throw error
  }
}

/**
 * Looks for files and folders of users by their names, and verifies the backup meanwhile as {@link verifyArchive} does. Rejects as
 * that does.
 */
export async function findUserFiles(
  file: string,
  text: string,
  options: ReadOptions = {},
): Promise<Pick<UserFilesResult, 'found' | 'count'>> {
  const userFiles = { kind: 'find', text } as const
  const backup = await read({ file, folder: null, maxBytes: Number.MAX_SAFE_INTEGER, userFiles }, options)
  return backup.userFiles as UserFilesResult
}

/**
 * Unpacks a file or a folder of a user into an empty folder, under its own name, and verifies the whole backup meanwhile as
 * {@link verifyArchive} does. When it rejects, the folder is empty again. It rejects as {@link unpackBackup} does; with
 * PAYLOAD_TOO_LARGE when the path has more than `maxBytes`; and with NOT_FOUND for an unknown user or path.
 */
export async function extractUserFile(
  file: string,
  folder: string,
  { user, path, maxBytes = Number.MAX_SAFE_INTEGER, ...options }: ReadOptions & ExtractOptions,
): Promise<ExtractedUserFile> {
  const userFiles = { kind: 'extract', user, path, maxBytes } as const
  const unpacked = await unpackBackup(file, folder, {
    ...options,
    maxBytes: Number.MAX_SAFE_INTEGER,
    userFiles,
  })
  return unpacked.userFiles?.extracted as ExtractedUserFile
}

/**
 * Reads only the beginning of a backup.
 *
 * Rejects with NodekeepError: NOT_FOUND; VALIDATION_ERROR when it is damaged, no backup, or of a newer format.
 */
export async function readHeader(file: string): Promise<PublicHeader> {
  return await orExplain(file, readBeginning(file))
}

/** Returns the bytes that are read of a backup. Rejects as {@link readHeader} does. */
export async function bytesOfBackup(file: string): Promise<number> {
  return await orExplain(file, bytesOf(file))
}

async function orExplain<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const failure = archiveFailure(error)
    throw failure === null ? error : explained(file, failure)
  }
}

async function read(
  task: Omit<ReadSettings, 'identities'>,
  { identities = [], signal, onProgress }: ReadOptions,
): Promise<VerifiedBackup> {
  signal?.throwIfAborted()
  const keys = await Promise.all(identities.map(parseIdentity))
  const reading = runInThread<ReadSettings, number, VerifiedBackup>(
    moduleBeside(import.meta.url, 'read-thread'),
    {
      name: 'backup reader',
      order: { ...task, identities: keys },
      signal,
      ...(onProgress && { onMessage: onProgress }),
      resourceLimits: { maxOldGenerationSizeMb: 2048 },
    },
  )
  return await orExplain(task.file, reading)
}

function explained(file: string, { code, message }: ArchiveFailure): NodekeepError {
  return new NodekeepError(code, `The archive ${basename(file)} ${message}.`)
}
