import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Log } from '@nodekeep/plugin-sdk'

/** Kills at the end of its input what it was told to keep. A signal for the whole group is the node's to answer. */
const script = `
trap '' INT TERM HUP
kept=
while read -r change pid; do
  rest=
  for each in $kept; do [ "$each" = "$pid" ] || rest="$rest $each"; done
  kept=$rest
  [ "$change" = drop ] || kept="$kept $pid"
done
[ -z "$kept" ] || kill -9 $kept
`

/**
 * Sees to it that no sandbox outlives the node, however the node ends: a function that loops never looks whether
 * anybody still waits. It is a small shell of its own, for nothing in the node runs when it was killed. On Windows
 * libuv puts children into a job that ends with their parent, so that there is nothing to do.
 */
export class Keeper {
  readonly #log: Log
  readonly #kept = new Set<number>()
  #shell: ChildProcess | null = null
  #stopped = process.platform === 'win32'

  constructor(log: Log) {
    this.#log = log
  }

  keep(pid: number | undefined): void {
    if (pid === undefined || this.#stopped) return
    this.#kept.add(pid)
    if (this.#shell === null) this.#start()
    else this.#tell('keep', pid)
  }

  drop(pid: number | undefined): void {
    if (pid !== undefined && this.#kept.delete(pid)) this.#tell('drop', pid)
  }

  /** Ends it. What it kept must have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    const shell = this.#shell
    if (shell === null) return
    const ended = once(shell, 'exit')
    shell.ref()
    shell.stdin?.end()
    await ended
  }

  #tell(change: 'keep' | 'drop', pid: number): void {
    this.#shell?.stdin?.write(`${change} ${pid}\n`)
  }

  #start(): void {
    const shell = spawn('/bin/sh', ['-c', script], { cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
    this.#shell = shell
    shell.stdin.on('error', () => {})
    shell.on('error', (error) => {
      this.#shell = null
      this.#stopped = true
      this.#log.warn({ err: error }, 'without /bin/sh, a function that loops outlives a node that is killed')
    })
    // Somebody ended it: the next sandbox brings another one.
    shell.on('exit', () => {
      this.#shell = null
    })
    shell.unref()
    for (const pid of this.#kept) this.#tell('keep', pid)
  }
}
