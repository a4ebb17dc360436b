import { lstat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import {
  type CheckedAnswer,
  FolderCheck,
  type HashedFile,
  reasonOf,
  sentenceOf,
} from '@nodekeep/stored-check/client'
import { type TSchema, Type } from 'typebox'
import { type FoundBelow, filesBelow } from '../disk/files-below.ts'
import { openContent } from '../disk/local-content.ts'
import { NodeRequests } from '../remote/node-requests.ts'
import { SyncFailure } from '../sync-failure.ts'
import { nameOf } from '../sync-paths.ts'
import { CheckProgress } from './check-progress.ts'
import { nodeAndToken } from './node-and-token.ts'
import { readSettings } from './settings.ts'
import { printable } from './status-text.ts'

/** Attempts of a request that fails, and the milliseconds before the second one. They double. */
const mostAttempts = 6
const firstPauseMs = 1000

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const date = Type.String({ format: 'date-time', maxLength: 40 })

/** The answer of the node. A node may be hostile. */
const answerSchema = Type.Object({
  files: Type.Array(
    Type.Object({
      state: Type.Union([
        Type.Literal('stored'),
        Type.Literal('damaged'),
        Type.Literal('unreadable'),
        Type.Literal('changed'),
        Type.Literal('unlisted'),
        Type.Literal('shorter'),
        Type.Literal('other'),
        Type.Literal('absent'),
        Type.Literal('pending'),
      ]),
      path: orNull(Type.String({ maxLength: 8192 })),
      backup: orNull(Type.Object({ created: date, tried: date })),
    }),
  ),
})

/** Options of `nodekeep-sync check`. */
export interface CheckOptions {
  readonly node?: string
  readonly json?: boolean
}

interface CheckedFile extends HashedFile {
  /** Within the folder. */
  readonly path: string
}

/** A line of the output about a file. */
interface FileLine {
  readonly path: string
  readonly state: CheckedAnswer['state'] | 'ignored' | 'unread'
  /** Why it is not stored; `null` if it is. */
  readonly reason: string | null
  /** The path on the node. */
  readonly at: string | null
  readonly backup: CheckedAnswer['backup']
}

/**
 * Tells whether the files of a folder are stored on a node, by their contents. Nothing is uploaded, and nothing is written into the
 * folder. The exit code is 0 only if all are stored.
 */
export async function check(path: string, { node, json = false }: CheckOptions): Promise<void> {
  // Each file is in memory briefly, and V8 would enlarge its memory for that by 60 MB (MEMORY.md, "A check").
  setFlagsFromString('--semi-space-growth-factor=1')
  const root = resolve(path)
  const found = await lstat(root).catch(() => null)
  if (found?.isDirectory() !== true) throw new SyncFailure('stop', `There is no folder ${root}.`)
  const requests = await requestsTo(root, node)
  const progress = new CheckProgress()
  const tell = (line: FileLine) => {
    if (json) console.log(JSON.stringify(line))
    else if (line.reason !== null) progress.print(printable(`${line.path}: ${line.reason}`))
  }
  const asking = new FolderCheck<CheckedFile>(
    (files) => ask(requests, files),
    (file, answer) => {
      const { state, path: at, backup } = answer
      tell({ path: file.path, state, reason: state === 'stored' ? null : reasonOf(answer), at, backup })
    },
  )
  const leaveOut = (file: string, state: FileLine['state'], reason: string) =>
    tell({ path: file, state, reason, at: null, backup: null })
  let ignored = 0
  try {
    if (progress.isShown)
      for await (const one of filesBelow(root)) if (one.is === 'file') progress.expect(one.entry.size)
    for await (const one of filesBelow(root)) {
      if (one.is === 'ignored') {
        ignored += 1
        leaveOut(one.path, 'ignored', 'The rules of .nodekeepignore leave it out, so it was not checked.')
        continue
      }
      const hashed = one.is === 'file' ? await hashedFile(one) : one.reason
      if (one.is === 'file') progress.advance(one.entry.size)
      if (typeof hashed !== 'string') {
        await asking.add(hashed)
        continue
      }
      asking.addUnread()
      leaveOut(one.path, 'unread', hashed)
    }
    await asking.end()
  } finally {
    progress.end()
    requests.stop()
  }
  const { tally } = asking
  const sentence = sentenceOf(tally, dayOf)
  if (json) console.log(JSON.stringify({ ...tally, ignored, sentence }))
  else
    console.log(
      ignored === 0 ? sentence : `${sentence} ${ignored} ${ignored === 1 ? 'was' : 'were'} not checked.`,
    )
  process.exitCode = tally.stored === tally.files ? 0 : 1
}

/** Requests to the node of a synced folder, or to the only one that the person has logged in to. */
async function requestsTo(folder: string, given: string | undefined): Promise<NodeRequests> {
  const settings = await readSettings()
  const [only, ...others] = Object.keys(settings.tokens)
  const node = given ?? settings.folders[folder] ?? (others.length === 0 ? only : undefined)
  if (node === undefined) throw new SyncFailure('stop', 'Name the node with --node URL.')
  return new NodeRequests({ ...nodeAndToken(node, settings), deviceName: 'check' })
}

/** Hashes a file. Returns the reason if that is not possible. */
async function hashedFile({
  path,
  real,
  entry,
}: Extract<FoundBelow, { is: 'file' }>): Promise<CheckedFile | string> {
  try {
    const content = await openContent(real, entry)
    await content.close()
    return { path, name: nameOf(path), size: content.size, sha256: content.sha256 }
  } catch (error) {
    return `It cannot be read: ${(error as Error).message}`
  }
}

/** @throws SyncFailure if the node refuses, or does not answer for about half a minute */
async function ask(requests: NodeRequests, files: readonly HashedFile[]): Promise<readonly CheckedAnswer[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await requests.ask('/api/files/check', answerSchema, { method: 'POST', json: { files } })
      return answer.files
    } catch (error) {
      const mayPass = error instanceof SyncFailure && error.kind === 'unavailable'
      if (!mayPass || attempt === mostAttempts) throw error
      await delay(firstPauseMs * 2 ** (attempt - 1))
    }
  }
}

/** In the time zone of the machine. */
function dayOf(date: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
