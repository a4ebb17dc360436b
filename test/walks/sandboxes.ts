import { execFile } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Calls } from './coverage.ts'

/** How long to wait for the report of a sandbox, which comes after its answer, in milliseconds. */
const reportMs = 100

/** Counts calls in the sandbox processes that this process starts. Linux and macOS only. */
interface SandboxCounter {
  /** The calls in all sandboxes since `take` was called last. */
  take(): Promise<Calls>
  stop(): Promise<void>
}

/** Makes every sandbox that this process starts from now on load `sandbox-preload.ts`, and reads its reports. */
export async function countSandboxes(): Promise<SandboxCounter> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-walks-'))
  const pipe = join(folder, 'reports')
  await promisify(execFile)('mkfifo', [pipe])
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  const reports = new Socket({ fd, readable: true, writable: false })
  let calls = new Map<string, number>()
  createInterface(reports).on('line', (line) => {
    for (const [name, count] of JSON.parse(line)) calls.set(name, (calls.get(name) ?? 0) + count)
  })
  const node = process.execPath
  process.execPath = join(folder, 'node')
  const options = `--allow-inspector --allow-fs-read=${import.meta.dirname} --import ${join(import.meta.dirname, 'sandbox-preload.ts')}`
  await writeFile(process.execPath, `#!/bin/sh\nexec ${node} ${options} "$@" 9>${pipe}\n`)
  await chmod(process.execPath, 0o755)
  return {
    async take() {
      await delay(reportMs)
      const taken = calls
      calls = new Map()
      return taken
    },
    async stop() {
      process.execPath = node
      reports.destroy()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
