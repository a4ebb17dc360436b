/** The thread that watches the root. Hints of many changes at once would hold up the node. */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { watchFolder } from '@nodekeep/plugin-sdk/watch-folder'
import type { FromWatcher, WatchSettings } from './watch.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const send = (message: FromWatcher) => port.postMessage(message)
const { root, staging } = workerData as WatchSettings

yieldToTheNode()
await watchFolder({
  root,
  except: staging,
  onChange: send,
  onUsedUp: (code) => send({ usedUp: code }),
  // The node ends the thread.
  signal: new AbortController().signal,
})
send('ready')

/** Linux gives each thread a priority of its own. Requests come before hints. */
function yieldToTheNode(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), constants.priority.PRIORITY_LOW)
  } catch {
    // Elsewhere, the priority would be that of the whole process.
  }
}
