import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { root } from '../run/command.ts'

/** A server that runs as a process of its own, so that it shares no event loop with what measures it. */
export interface ServerProcess {
  readonly pid: number
  /** Where it said that it listens. */
  readonly url: URL
  /** Ends it with SIGTERM, and with SIGKILL after ten seconds. */
  stop(): Promise<void>
}

/**
 * Starts a file of the repository with Node, and waits until it prints an address (`http://host:port`).
 *
 * @throws with what it printed when it ends before that
 */
export async function startServer(
  file: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--conditions=nodekeep-source', file, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => printed.push(text))
  const url = await new Promise<URL>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const address = /https?:\/\/[\w.[\]:-]+:\d+/.exec(line)?.[0]
      if (address) resolve(new URL(address))
      printed.push(`${line}\n`)
    })
    child.once('error', reject)
    child.once('close', () => reject(new Error(`${file} ended before it listened:\n${printed.join('')}`)))
  })
  return { pid: child.pid ?? 0, url, stop: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  const impatience = setTimeout(() => child.kill('SIGKILL'), 10_000)
  child.kill('SIGTERM')
  await ended
  clearTimeout(impatience)
}

/** The memory of a process that is in RAM, in MB (10^6 bytes). Linux only. */
export async function residentMB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6
}

/**
 * The CPU time that the living threads of a process have used so far, in seconds. Linux only: its statistics of the
 * scheduler count nanoseconds, where `/proc/PID/stat` has steps of 10 ms, a tenth of some figures.
 */
export async function cpuSeconds(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const statistics = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  )
  return statistics.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]), 0) / 1e9
}
