import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** A sandbox's process. Descriptor 3 is what it answers on. */
export interface SandboxChild extends ChildProcess {
  readonly stdio: [stdin: Writable, stdout: null, stderr: Readable, answers: Readable, undefined]
  readonly stdin: Writable
  readonly stderr: Readable
}

const mebibyte = 2 ** 20
const pageBytes = 65_536
/** Bytes of a function's place in a table. */
const elementBytes = 32
/** For the SDK itself: its memory is one of WebAssembly, too, and its objects are on V8's heap. */
const sdkBytes = 64 * mebibyte

/** Starts a sandbox: an empty environment, and no rights but to read its own files and the SDK's, and to have threads. */
export function spawnSandbox(memoryBytes: number): SandboxChild {
  const sdk = import.meta.resolve('@wasmer/sdk/node')
  // From sources this file is TypeScript, and so is the other one.
  const main = import.meta.url.endsWith('.ts') ? 'main.ts' : 'main.js'
  const readable = ['../sandbox/', '../protocol/'].map(pathOf)
  readable.push(...['./', '../pkg/'].map((folder) => fileURLToPath(new URL(folder, sdk))))
  const flags = [
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    '--allow-worker',
    '--disable-warning=PERM0006',
    `--wasm-max-mem-pages=${Math.ceil(Math.max(memoryBytes, sdkBytes) / pageBytes)}`,
    `--wasm-max-table-size=${Math.ceil(Math.max(memoryBytes, sdkBytes) / elementBytes)}`,
    `--max-old-space-size=${Math.ceil((sdkBytes + memoryBytes) / mebibyte)}`,
    '--v8-pool-size=1',
  ]
  return spawn(process.execPath, [...flags, pathOf(`../sandbox/${main}`), sdk], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  }) as unknown as SandboxChild
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
