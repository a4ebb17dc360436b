import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export type SandboxChild = ChildProcessByStdio<Writable, Readable, Readable>

const mebibyte = 2 ** 20
/** For what the sandbox itself keeps on V8's heap, and values of modules that live there. */
const heapBytes = 64 * mebibyte

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
  return spawn(program, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true })
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
