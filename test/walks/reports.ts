import { closeSync, ftruncateSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import workerThreads from 'node:worker_threads'
import type { Calls } from './coverage.ts'

/** Counts calls in worker threads and in processes that load {@link CallReports.preload}. They write reports into a file. */
interface CallReports {
  /** The value of `--import` for a process that is to report. */
  readonly preload: string
  /** The reports since `take` was called last. A thread or process reports within 20 ms after a call, and at its end. */
  take(): Calls
  stop(): Promise<void>
}

/** Makes every worker thread that this process starts from now on report its calls. */
export async function countReports(): Promise<CallReports> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-walks-'))
  const file = join(folder, 'reports')
  const fd = openSync(file, 'a+')
  const preload = new URL(`report-preload.ts?${new URLSearchParams({ file })}`, import.meta.url).href
  reportWorkers(preload)
  return {
    preload,
    take() {
      const calls = new Map<string, number>()
      for (const line of readFileSync(file, 'utf8').split('\n')) {
        if (line === '') continue
        for (const [name, count] of JSON.parse(line)) calls.set(name, (calls.get(name) ?? 0) + count)
      }
      ftruncateSync(fd)
      return calls
    },
    async stop() {
      closeSync(fd)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Makes every worker thread that this process starts from now on load a file first. */
export function reportWorkers(preload: string): void {
  const { Worker } = workerThreads
  workerThreads.Worker = class extends Worker {
    constructor(file: string | URL, options: workerThreads.WorkerOptions = {}) {
      super(file, { ...options, execArgv: [...(options.execArgv ?? process.execArgv), '--import', preload] })
    }
  }
  syncBuiltinESMExports()
}
