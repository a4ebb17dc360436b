import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** A sandbox's process. Descriptor 3 is what it answers on. */
export interface SandboxChild extends ChildProcess {
  readonly stdio: [stdin: Writable, stdout: null, stderr: Readable, answers: Readable, undefined]
  readonly stdin: Writable
  readonly stderr: Readable
}

/** What a sandbox is started for: a run that waits, or one that may come. For that it makes itself warm first. */
export type SandboxPurpose = 'run' | 'spare'

const mebibyte = 2 ** 20
const pageBytes = 65_536
/** Bytes of a function's place in a table. */
const elementBytes = 32
/** For the SDK itself: its memory is one of WebAssembly, too, and its objects are on V8's heap. */
const sdkBytes = 64 * mebibyte

/** Of 20 steps by which a process can give way to others. */
const niceness = 3

const shell = '/bin/sh'
/**
 * No core dumps, no files that grow, and few that are open, so that there cannot be many threads, either: each has some.
 * And no variable that somebody added on the way.
 */
const confine = 'ulimit -c 0; ulimit -f 0; ulimit -n 256; exec env -i "$@"'

/**
 * Starts a sandbox: an empty environment, and no rights but to read its own files and the SDK's, and to have threads.
 * Where there is a shell, the system's bounds come on top.
 */
export function spawnSandbox(memoryBytes: number, purpose: SandboxPurpose): SandboxChild {
  const sdk = import.meta.resolve('#wasmer-sdk')
  // From sources this file is TypeScript, and so is the other one.
  const main = import.meta.url.endsWith('.ts') ? 'main.ts' : 'main.js'
  const readable = ['../sandbox/', '../protocol/'].map(pathOf)
  readable.push(...['./', '../pkg/'].map((folder) => fileURLToPath(new URL(folder, sdk))))
  const most = Math.max(memoryBytes, sdkBytes)
  const node = [
    process.execPath,
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    '--allow-worker',
    '--disable-warning=PERM0006',
    `--wasm-max-mem-pages=${Math.ceil(most / pageBytes)}`,
    `--wasm-max-table-size=${Math.ceil(most / elementBytes)}`,
    `--max-old-space-size=${Math.ceil((sdkBytes + memoryBytes) / mebibyte)}`,
    '--v8-pool-size=1',
    pathOf(`../sandbox/${main}`),
    sdk,
    purpose,
  ]
  const [program = '', ...args] = existsSync(shell) ? [shell, '-c', confine, shell, ...node] : node
  const child = spawn(program, args, {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
  giveWay(child)
  return child as unknown as SandboxChild
}

/** Lets the node go first where processors are few: everybody waits for it, and for a program only who runs it. */
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
