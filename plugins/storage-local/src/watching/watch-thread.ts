/** The thread that watches the root with chokidar. Reading large folders anew after each change would hold up the node. */
import { readFileSync, readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, relative, sep } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { watch } from 'chokidar'
import type { FromWatcher, WatchSettings } from './watch.ts'

/** Milliseconds for which paths are gathered. A program that writes a file changes it several times. */
const gatherMs = 50

/** More paths than this are no help: looking everywhere is quicker. */
const maxPaths = 20_000

/**
 * The longest path of a folder that is watched, in bytes: the system takes paths up to 4,095, also those of the entries in it.
 * With a longer one, chokidar would never be ready. Changes in it are found when somebody looks everywhere.
 */
const maxPathBytes = 4095 - 256

/** Milliseconds after which a new folder is hinted again: chokidar lists it before it watches it. */
const againMs = 1000

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const send = (message: FromWatcher) => port.postMessage(message)
const { root, staging } = workerData as WatchSettings

/** Paths below the root, as the disk has them; `''` is the root. */
let gathered = new Set<string>()
const eventsAtRisk = maxQueuedEvents() / 2
let eventsOfTurn = 0

yieldToTheNode()
// Only folders are watched: each tells the changes of the files in it, and the system has few watches to give.
const watcher = watch(root, {
  ignoreInitial: true,
  followSymlinks: false,
  ignored: (path, stats) =>
    path === staging ||
    Buffer.byteLength(path) > maxPathBytes ||
    (stats !== undefined && !stats.isDirectory()),
})
watcher.on('raw', (_event, name, details) => {
  const { watchedPath } = details as { readonly watchedPath: string }
  countEvent()
  gather(typeof name === 'string' ? join(watchedPath, name) : watchedPath)
})
watcher.on('addDir', (path) => {
  gather(path)
  setTimeout(gather, againMs, path)
})
watcher.on('error', (error) => {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EMFILE' && code !== 'ENFILE') return gather(root)
  // Half a watch would only take watches from other programs.
  send({ usedUp: code })
  watcher.close()
})
watcher.on('ready', () => send('ready'))

function gather(path: string): void {
  if (path === staging || path.startsWith(staging + sep)) return
  if (gathered.size === 0) setTimeout(sendGathered, gatherMs)
  gathered.add(relative(root, path))
  if (gathered.size > maxPaths) gathered = new Set([''])
}

function sendGathered(): void {
  send([...gathered])
  gathered = new Set()
}

/**
 * The system drops events without a word when its queue is full, and hands over the whole queue in one turn of the event
 * loop. Many events in one turn mean that others may be lost.
 */
function countEvent(): void {
  if (eventsOfTurn === 0) {
    setImmediate(() => {
      if (eventsOfTurn >= eventsAtRisk) gather(root)
      eventsOfTurn = 0
    })
  }
  eventsOfTurn += 1
}

/** `inotify(7)`; other systems have no such file. */
function maxQueuedEvents(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  } catch {
    return 16_384
  }
}

/** Linux gives each thread a priority of its own. Requests come before hints. */
function yieldToTheNode(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), constants.priority.PRIORITY_LOW)
  } catch {
    // Elsewhere, the priority would be that of the whole process.
  }
}
