import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export type SandboxChild = ChildProcessByStdio<Writable, Readable, Readable>

const mebibyte = 2 ** 20
/** For what the sandbox itself keeps on V8's heap, and values of modules that live there. */
const heapBytes = 64 * mebibyte

/** Of 20 steps by which a process can give way to others. */
const niceness = 3

const shell = '/bin/sh'
/** No core dumps, no files that grow, few that are open, and no variable that somebody added on the way. */
const confine = 'ulimit -c 0; ulimit -f 0; ulimit -n 64; exec env -i "$@"'

/**
 * Starts a sandbox: an empty environment, no rights but to read its own files, and a bound on V8's heap. Where there
 * is a shell, the system's bounds come on top. Modules are bounded within, for Node itself may need one to start.
 */
export function spawnSandbox(memoryBytes: number): SandboxChild {
  // From sources this file is TypeScript, and so is the other one.
  const main = import.meta.url.endsWith('.ts') ? 'main.ts' : 'main.js'
  const node = [
    process.execPath,
    '--permission',
    ...['../sandbox/', '../protocol/'].map((folder) => `--allow-fs-read=${pathOf(folder)}`),
    `--max-old-space-size=${Math.ceil((heapBytes + memoryBytes) / mebibyte)}`,
    '--v8-pool-size=1',
    '--expose-gc',
    pathOf(`../sandbox/${main}`),
    String(memoryBytes),
  ]
  const [program = '', ...args] = existsSync(shell) ? [shell, '-c', confine, shell, ...node] : node
  const child = spawn(program, args, {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  })
  giveWay(child)
  return child
}

/** Lets the node go first where processors are few: everybody waits for it, and for a sandbox only who calls. */
function giveWay({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, niceness)
  } catch {
    // It has ended already, which is noticed elsewhere.
  }
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
