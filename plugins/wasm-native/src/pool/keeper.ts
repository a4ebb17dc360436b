import { type ChildProcess, spawn } from 'node:child_process'
import type { Log } from '@nodekeep/plugin-sdk'

/**
 * Kills at the end of its input what it was told to keep. A signal for the whole group is the node's to answer.
 * `echo` shows that it listens.
 */
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
  #shell: ChildProcess | undefined
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  keep(pid: number | undefined): void {
    if (pid === undefined) return
    this.#shell ??= this.#start()
    this.#shell?.stdin?.write(`keep ${pid}\n`)
  }

  drop(pid: number | undefined): void {
    if (pid === undefined) return
    this.#shell?.stdin?.write(`drop ${pid}\n`)
  }

  /** Ends it. What it kept must have ended. */
  stop(): void {
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }

  #start(): ChildProcess | undefined {
    if (process.platform === 'win32') return undefined
    const shell = spawn('/bin/sh', ['-c', script], { cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
    shell.on('error', (error) =>
      this.#log.warn({ err: error }, 'a function that loops may outlive a node that is killed'),
    )
    shell.stdin.on('error', () => {})
    shell.unref()
    return shell
  }
}
