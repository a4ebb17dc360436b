/** The thread that watches a folder. chokidar is loaded here only. */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { FolderWatch } from './folder-watch.ts'
import type { FromWatchThread, WatchOrder } from './watch-messages.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const send = (message: FromWatchThread) => port.postMessage(message)

yieldToTheProcess()
// People set it for development tools. A folder that chokidar polls tells no changes of the files in it.
delete process.env.CHOKIDAR_USEPOLLING
const watch = new FolderWatch({
  ...(workerData as WatchOrder),
  onChange: send,
  onUsedUp: (code) => send({ usedUp: code }),
})
// A bundle of a program cannot await here.
watch.begin().then(() => send('ready'))

/** Linux gives each thread a priority of its own. The work of the process comes before hints. */
function yieldToTheProcess(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), constants.priority.PRIORITY_LOW)
  } catch {
    // Elsewhere, the priority would be that of the whole process.
  }
}
