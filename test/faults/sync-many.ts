import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setInterval } from 'node:timers/promises'
import { promisify } from 'node:util'
import { writeSmallFiles } from '../bench/fixtures/small-files.ts'
import { type ClientProcess, startSyncNode } from '../bench/fixtures/sync-stand.ts'
import { memoryOf, peakWhile } from './files-transfer.ts'

/** Mebibytes of the memory of a node above its idle memory, and of a client. */
interface PeakMemory {
  readonly what: string
  readonly node: number
  readonly client: number
}

/**
 * Syncs many files from one device to another, for the first time, and again after all have changed while the other was away.
 *
 * @returns the memory of each of these runs
 * @throws AssertionError if the folders differ
 */
export async function syncMany(count: number, log: (line: string) => void): Promise<PeakMemory[]> {
  const stand = await startSyncNode()
  try {
    const token = await stand.signIn(1)
    const [one, two] = [await stand.folder('one'), await stand.folder('two')]
    const peaks: PeakMemory[] = []
    const sync = async (what: string, folder: string) => {
      const { pid } = stand.node
      const idle = await memoryOf(pid)
      const began = performance.now()
      const client = stand.startClient({ token, folder, args: ['--once'] })
      const [peak, own] = await Promise.all([peakWhile(pid, client.ended), peakOf(client)])
      const seconds = (performance.now() - began) / 1000
      const run = { what, node: peak - idle, client: own }
      log(
        `${what}: ${seconds.toFixed(0)} s, node ${run.node.toFixed(0)} MiB above ${idle.toFixed(0)}, client ${own.toFixed(0)} MiB`,
      )
      peaks.push(run)
    }
    for (const round of ['first sync', 'sync of changes']) {
      await writeSmallFiles(one, count)
      await sync(`${round} to the node`, one)
      await sync(`${round} from the node`, two)
      await promisify(execFile)('diff', ['-rq', '--exclude=.nodekeep-sync', one, two]).catch((error) => {
        assert.fail(`The folders differ:\n${error.stdout}`)
      })
    }
    return peaks
  } finally {
    await stand.tearDown()
  }
}

/** The most memory of a process in its life, in mebibytes (`VmHWM` of proc(5)). */
async function peakOf({ pid, ended }: ClientProcess): Promise<number> {
  const end = new AbortController()
  let peak = 0
  const watch = async () => {
    for await (const _ of setInterval(100, undefined, { signal: end.signal })) {
      // A process that ends has no figures any more.
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024)
    }
  }
  const watching = watch().catch((error) => {
    if (!end.signal.aborted) throw error
  })
  await ended.finally(() => end.abort())
  await watching
  return peak
}
