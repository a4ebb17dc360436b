import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { dirname, extname, sep } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { strippedSources } from './stripped-sources.ts'

/** Options of a sandbox process. */
export interface SandboxProcessOptions {
  /** The file that Node runs in the sandbox. The sandbox may read everything in its folder. */
  readonly main: URL
  readonly args?: readonly string[]
  /** Further folders that the sandbox may read, each with a slash at its end. */
  readonly readable?: readonly URL[]
  /** Bound of V8's heap, in bytes. It does not hold for WebAssembly memories. */
  readonly heapBytes: number
  /** Most files, pipes and sockets that the sandbox may have open. Each thread needs some. */
  readonly openFiles: number
  /** Further flags for Node, such as `--allow-worker`. */
  readonly flags?: readonly string[]
}

/** Hears what a sandbox process does. */
export interface SandboxProcessListener {
  /**
   * The sandbox wrote bytes to descriptor 3. They are read from a process that may run hostile code.
   *
   * @throws when the bytes make no sense: the sandbox is killed then
   */
  data(chunk: Buffer): void
  /** The process is gone. `exit` says how it ended. */
  ended(): void
}

interface SandboxChild extends ChildProcess {
  readonly stdin: Writable
  readonly stderr: Readable
  readonly stdio: [stdin: Writable, stdout: null, stderr: Readable, answers: Readable, undefined]
}

/** Characters of standard error that are kept. The last ones say why a process died. */
const stderrTailLength = 4096
/** The node goes before its sandboxes where processors are few: every user waits for the node. */
const niceness = 3
const shell = '/bin/sh'

/**
 * A process for untrusted code, confined by Node's permission model and, where there is a shell, by limits of
 * the system. It has an empty environment. It can read the folder of its own program and what `readable` names, and
 * nothing else: it can write no files, start no processes and open no connections. It reads requests from its standard
 * input and writes answers to descriptor 3. It should end when its input ends.
 *
 * Of the SDK, the sandbox can import `sandbox-content`, `sandbox-frames` and `wasm-binary`, and nothing else.
 */
export class SandboxProcess {
  /** How the process ended: a signal, an exit code or the reason why it did not start. Null while it runs. */
  exit: string | null = null
  /** The end of what the process wrote to its standard error. */
  stderrTail = ''
  readonly #child: SandboxChild

  constructor(options: SandboxProcessOptions, listener: SandboxProcessListener) {
    this.#child = spawnConfined(options)
    this.#listen(listener)
  }

  /** Undefined when the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Standard input of the process. Errors of it are ignored: `ended` tells when the process is gone. */
  get input(): Writable {
    return this.#child.stdin
  }

  /** Bytes of the process that are in RAM. 0 where they are not known, which is everywhere but on Linux. */
  get residentBytes(): number {
    try {
      // In KiB. `statm` counts pages instead, whose size is not the same on all machines (proc(5)).
      const [, kibibytes = 0] =
        /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1')) ?? []
      return Number(kibibytes) * 1024
    } catch {
      return 0
    }
  }

  /** Whether V8 ended the process because its heap was full. */
  get ranOutOfMemory(): boolean {
    return /out of memory|heap limit/i.test(this.stderrTail)
  }

  /** Ends the process at once. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #listen(listener: SandboxProcessListener): void {
    const child = this.#child
    const [, , , answers] = child.stdio
    const end = (how: string) => {
      if (this.exit !== null) return
      this.exit = how
      listener.ended()
    }
    // Only when it has started: busy sandboxes would slow the start down.
    answers.once('data', () => child.pid !== undefined && lowerPriority(child.pid))
    answers.on('data', (chunk: Buffer) => {
      try {
        listener.data(chunk)
      } catch (error) {
        this.stderrTail += String(error)
        this.kill()
      }
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderrTail = (this.stderrTail + text).slice(-stderrTailLength)
    })
    for (const stream of [child.stdin, answers, child.stderr]) stream.on('error', () => {})
    child.on('error', (error) => end(error.message))
    child.on('close', (code, signal) => end(signal ?? `exit code ${code}`))
  }
}

function spawnConfined(options: SandboxProcessOptions): SandboxChild {
  const { main, args = [], readable = [], heapBytes, openFiles, flags = [] } = options
  const inside = new URL(`./inside/imports${extname(import.meta.url)}`, import.meta.url)
  const program = fileURLToPath(main)
  const folders = [
    folderOf(program),
    folderOf(fileURLToPath(inside)),
    ...readable.map((folder) => fileURLToPath(folder)),
  ]
  // From the sources this file is TypeScript, and so are those that the sandbox loads.
  const stripped = import.meta.url.endsWith('.ts') ? [strippedSources(folders.filter(isOurs))] : []
  const node = [
    process.execPath,
    '--permission',
    ...[...folders, ...stripped].map((path) => `--allow-fs-read=${path}`),
    ...[...stripped.map((path) => pathToFileURL(path)), inside].map(({ href }) => `--import=${href}`),
    `--max-old-space-size=${Math.ceil(heapBytes / 2 ** 20)}`,
    '--v8-pool-size=1',
    ...flags,
    program,
    ...args,
  ]
  // No core dumps, no files that grow, and no variable that something added on the way.
  const confine = `ulimit -c 0; ulimit -f 0; ulimit -n ${openFiles}; exec env -i "$@"`
  const [command = '', ...rest] = existsSync(shell) ? [shell, '-c', confine, shell, ...node] : node
  const stdio = ['pipe', 'ignore', 'pipe', 'pipe'] as const
  const child = spawn(command, rest, { cwd: '/', env: {}, stdio: [...stdio], windowsHide: true })
  return child as unknown as SandboxChild
}

/** Linux has a priority for each thread. Threads that start later inherit it. */
function lowerPriority(pid: number): void {
  try {
    const threads = process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`) : [pid]
    for (const thread of threads) setPriority(Number(thread), niceness)
  } catch {
    // The process has ended already, or the system does not allow it: then it competes as an equal.
  }
}

/** Libraries have JavaScript. */
function isOurs(folder: string): boolean {
  return !folder.includes(`${sep}node_modules${sep}`)
}

function folderOf(file: string): string {
  return dirname(file) + sep
}
