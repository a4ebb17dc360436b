import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Log } from '../context.ts'

/** Reads which processes to guard, and kills them when its input ends. Signals for the whole group are the node's to answer. */
const script = `
trap '' INT TERM HUP
guarded=
while read -r change pid; do
  rest=
  for each in $guarded; do [ "$each" = "$pid" ] || rest="$rest $each"; done
  guarded=$rest
  [ "$change" = drop ] || guarded="$guarded $pid"
done
[ -z "$guarded" ] || kill -9 $guarded
`

/**
 * Kills sandboxes when the node dies without stopping them, for example by SIGKILL. A runtime needs it if the thread
 * that reads a sandbox's input also runs the guest's code: a guest that loops never notices that the input has ended.
 *
 * The guard is a small shell process of its own, because nothing within the node runs after the node was killed. On
 * Windows it does nothing: libuv puts child processes into a job that ends with their parent.
 */
export class OrphanGuard {
  readonly #log: Log
  readonly #guarded = new Set<number>()
  #shell: ChildProcess | null = null
  #stopped = process.platform === 'win32'

  constructor(log: Log) {
    this.#log = log
  }

  /** Guards a process from now on. The first one starts the guard. */
  add(pid: number | undefined): void {
    if (pid === undefined || this.#stopped) return
    this.#guarded.add(pid)
    if (this.#shell === null) this.#start()
    else this.#tell('add', pid)
  }

  /** Forgets a process that has ended, so that another one with its number is safe. */
  drop(pid: number | undefined): void {
    if (pid !== undefined && this.#guarded.delete(pid)) this.#tell('drop', pid)
  }

  /** Ends the guard. It kills the processes that were not dropped. */
  async stop(): Promise<void> {
    this.#stopped = true
    const shell = this.#shell
    if (shell === null) return
    const ended = once(shell, 'exit')
    shell.ref()
    shell.stdin?.end()
    await ended
  }

  #tell(change: 'add' | 'drop', pid: number): void {
    this.#shell?.stdin?.write(`${change} ${pid}\n`)
  }

  #start(): void {
    const shell = spawn('/bin/sh', ['-c', script], { cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
    this.#shell = shell
    shell.stdin.on('error', () => {})
    shell.on('error', (error) => {
      this.#shell = null
      this.#stopped = true
      this.#log.warn({ err: error }, 'No /bin/sh: sandboxes may survive if the node is killed')
    })
    // If something ends the guard, the next sandbox starts another one.
    shell.on('exit', () => {
      this.#shell = null
    })
    shell.unref()
    for (const pid of this.#guarded) this.#tell('add', pid)
  }
}
