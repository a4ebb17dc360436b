import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { root } from '../run/command.ts'

/** A server in a process of its own, so that it does not share an event loop with the measurement. */
export interface ServerProcess {
  readonly pid: number
  /** The address that it printed. */
  readonly url: URL
  /** Ends the process with SIGTERM, and after ten seconds with SIGKILL. */
  stop(): Promise<void>
}

/**
 * Starts a file of the repository with Node, and waits until it prints an address (`http://host:port`).
 *
 * @throws an error with the output of the file, if it ends without an address
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
  const kill = setTimeout(() => child.kill('SIGKILL'), 10_000)
  child.kill('SIGTERM')
  await ended
  clearTimeout(kill)
}

/** The resident memory of a process, in MB (10^6 bytes). Linux only. */
export async function residentMB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6
}

/**
 * The CPU time of the living threads of a process, in seconds. Linux only: the statistics of its scheduler count
 * nanoseconds, while `/proc/PID/stat` counts in steps of 10 ms, a tenth of some figures.
 */
export async function cpuSeconds(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const statistics = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  )
  return statistics.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]), 0) / 1e9
}
