import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { SyncStatus } from '../sync-engine.ts'
import { SyncFailure } from '../sync-failure.ts'
import { openSyncFolder } from '../sync-folder.ts'
import { changeSettings, readSettings } from './settings.ts'
import { isPaused, writeStatus } from './status-file.ts'

/** Milliseconds between two looks at what other commands want, and between two writes of the status. */
const lookMs = 500

/** Options of `nodekeep-sync FOLDER`. */
export interface SyncOptions {
  readonly node?: string
  readonly once?: boolean
  readonly name?: string
  readonly link?: boolean
  readonly allowDeletions?: boolean
}

/** Syncs a folder until the process is told to end, or with `once` until both sides are the same. */
export async function sync(path: string, options: SyncOptions): Promise<void> {
  const folder = resolve(path)
  const settings = await readSettings()
  const known = settings.folders[folder]
  const node = options.node ?? known
  if (node === undefined) throw new SyncFailure('stop', `Name the node of ${folder} with --node URL.`)
  const url = new URL(node)
  const token = process.env.NODEKEEP_SYNC_TOKEN ?? settings.tokens[url.origin]
  if (token === undefined) {
    throw new SyncFailure('stop', `Log in first: nodekeep-sync login --node ${url.origin}`)
  }
  const end = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end.abort())
  using opened = await openSyncFolder({
    folder,
    url,
    token,
    deviceName: options.name ?? asciiOf(hostname()),
    wasSynced: known !== undefined && options.link !== true,
    onTrouble: (message) => console.error(message),
    onStep: (changed, step) => {
      if (!process.stdout.isTTY) console.log(`${step} ${changed}`)
    },
    onStatus: (status) => {
      if (options.allowDeletions === true && status.heldDeletions !== null)
        queueMicrotask(() => engine.confirmDeletions())
      if (options.once === true && isDone(status)) end.abort()
    },
  })
  const { engine } = opened
  await changeSettings((all) => ({ ...all, folders: { ...all.folders, [folder]: url.origin } }))
  const look = async () => {
    const shouldPause = await isPaused(folder)
    if (shouldPause !== engine.status.isPaused) shouldPause ? engine.pause() : engine.resume()
    // A full disk must not end the client.
    await writeStatus(folder, url.origin, engine.status).catch(() => {})
    showProgress(engine.status)
  }
  let looking = look()
  const looks = setInterval(() => {
    looking = looking.then(look).catch(() => {})
  }, lookMs)
  try {
    await looking
    await engine.run(end.signal)
  } finally {
    clearInterval(looks)
    await looking
    await writeStatus(folder, url.origin, engine.status).catch(() => {})
    if (process.stdout.isTTY) process.stdout.write('\n')
  }
  report(engine.status)
}

function isDone({ isIdle, isPaused: paused }: SyncStatus): boolean {
  return isIdle && !paused
}

function showProgress({ isConnected, isPaused: paused, open, synced, trouble }: SyncStatus): void {
  if (!process.stdout.isTTY) return
  const state = paused
    ? 'paused'
    : isConnected
      ? open > 0
        ? 'syncing'
        : 'in sync'
      : (trouble ?? 'connecting')
  const share = open + synced === 0 ? 1 : synced / (open + synced)
  const bar = '#'.repeat(Math.round(share * 20)).padEnd(20, '-')
  process.stdout.write(`\r\u001b[2K[${bar}] ${synced} synced, ${open} open: ${state}`)
}

function report({ heldDeletions, problems }: SyncStatus): void {
  for (const [path, reason] of problems) console.error(`Not synced: ${path}: ${reason}`)
  if (heldDeletions === null) return
  console.error(
    `${heldDeletions} files would be deleted. If that is right, run this again with --allow-deletions.`,
  )
  process.exitCode = 2
}

/** The node takes names in printable ASCII. */
function asciiOf(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '').slice(0, 100) || 'device'
}
