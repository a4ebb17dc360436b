import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { SyncStatus } from '../sync-engine.ts'
import { SyncFailure } from '../sync-failure.ts'
import { openSyncFolder } from '../sync-folder.ts'
import { nodeAndToken } from './node-and-token.ts'
import { changeSettings, readSettings } from './settings.ts'
import { isPaused, StatusFile } from './status-file.ts'
import { printable, stateText, waitingText } from './status-text.ts'

/** Milliseconds after which the files of other commands are read, and the status is written. */
const pollMs = 500

/** Options of `nodekeep-sync FOLDER`. */
export interface SyncOptions {
  readonly node?: string
  readonly once?: boolean
  /** With `once`: the seconds to wait while all that is left fails. */
  readonly wait?: string
  readonly name?: string
  readonly link?: boolean
  readonly allowDeletions?: boolean
}

/** Exit codes of a run with `once`, beside 1 for a failure. */
const [heldCode, leftCode, unfinishedCode] = [2, 3, 4] as const

/** Syncs a folder until a signal ends the process, or with `once` until both sides are the same, or nothing more can be done. */
export async function sync(path: string, options: SyncOptions): Promise<void> {
  const folder = resolve(path)
  const settings = await readSettings()
  const known = settings.folders[folder]
  const node = options.node ?? known
  if (node === undefined) throw new SyncFailure('stop', `Name the node of ${folder} with --node URL.`)
  const { url, token } = nodeAndToken(node, settings)
  const waitMs = Number(options.wait ?? 60) * 1000
  if (!(waitMs >= 0)) throw new SyncFailure('stop', `Give --wait a number of seconds, not "${options.wait}".`)
  const deviceName = options.name ?? asciiOf(hostname())
  if (!isDeviceName(deviceName)) {
    throw new SyncFailure(
      'stop',
      `"${deviceName}" is no name for a device. Give one in printable ASCII, of at most 100 characters, but not "disk".`,
    )
  }
  const end = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end.abort())
  /** Why both sides are not the same at the end of a run with `once`. */
  let unfinished: string | null = 'The command was stopped.'
  using opened = await openSyncFolder({
    folder,
    url,
    token,
    deviceName,
    wasSynced: known !== undefined,
    isAnew: options.link === true,
    onTrouble: (message) => console.error(message),
    onStep: (changed, step) => {
      if (!process.stdout.isTTY) console.log(printable(`${step} ${changed}`))
    },
    onStatus: (status) => {
      if (options.allowDeletions === true && status.heldDeletions !== null)
        queueMicrotask(() => engine.confirmDeletions())
      if (options.once !== true || !isDone(status)) return
      unfinished = null
      end.abort()
    },
  })
  const { engine } = opened
  await changeSettings((all) => ({ ...all, folders: { ...all.folders, [folder]: url.origin } }))
  const file = new StatusFile(folder, url.origin)
  let printed: string | null = null
  const poll = async () => {
    const shouldPause = await isPaused(folder)
    if (shouldPause !== engine.status.isPaused) shouldPause ? engine.pause() : engine.resume()
    const { status } = engine
    // A full disk must not end the client.
    await file.write(status).catch(() => {})
    const waiting = waitingText(folder, status)
    if (waiting !== null && waiting !== printed) console.error(`${lineStart()}${printable(waiting)}`)
    printed = waiting
    showProgress(status)
    if (options.once !== true || engine.stalledMs < waitMs || end.signal.aborted) return
    unfinished = waiting ?? `${status.open} paths are open.`
    end.abort()
  }
  let polling = poll()
  const timer = setInterval(() => {
    polling = polling.then(poll).catch(() => {})
  }, pollMs)
  try {
    await polling
    await engine.run(end.signal)
  } finally {
    clearInterval(timer)
    await polling
    await file.write(engine.status).catch(() => {})
    if (process.stdout.isTTY) process.stdout.write('\n')
  }
  report(folder, engine.status)
  if (options.once !== true) return
  if (unfinished !== null)
    console.error(printable(`Not finished: ${unfinished} Run the command again later.`))
  process.exitCode = unfinished === null ? codeOf(engine.status) : unfinishedCode
}

function isDone({ isIdle, isPaused: paused }: SyncStatus): boolean {
  return isIdle && !paused
}

function showProgress(status: SyncStatus): void {
  if (!process.stdout.isTTY) return
  const { open, synced } = status
  const share = open + synced === 0 ? 1 : synced / (open + synced)
  const bar = '#'.repeat(Math.round(share * 20)).padEnd(20, '-')
  process.stdout.write(`${lineStart()}[${bar}] ${synced} synced, ${stateText(status)}`)
}

/** The text that begins the line of the progress again. On a terminal, it clears the line. */
function lineStart(): string {
  return process.stdout.isTTY ? '\r\u001b[2K' : ''
}

function report(folder: string, status: SyncStatus): void {
  for (const [path, reason] of status.problems) console.error(printable(`Not synced: ${path}: ${reason}`))
  if (status.heldDeletions !== null) console.error(waitingText(folder, status))
}

function codeOf({ heldDeletions, problems }: SyncStatus): number {
  if (heldDeletions !== null) return heldCode
  return problems.size > 0 ? leftCode : 0
}

/** The node takes names in printable ASCII, and means other programs by "disk". */
function isDeviceName(name: string): boolean {
  return /^[\x20-\x7e]{1,100}$/.test(name) && name !== 'disk'
}

function asciiOf(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '').slice(0, 100) || 'device'
}
