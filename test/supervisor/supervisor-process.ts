import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** How a process ended: its exit code, or the signal. */
type End = readonly [code: number | null, signal: NodeJS.Signals | null]

/** How a supervisor is started. */
export interface StartOptions {
  /** The descriptor of a socket to pass as systemd does (sd_listen_fds(3)). */
  readonly socket?: number
  /** Whether supervisor and node are a process group of their own, as for a terminal. */
  readonly ownGroup?: boolean
}

/** A supervisor in a process of its own. It may be started again after its end. */
export class SupervisorProcess {
  readonly #folder: string
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | null = null
  #output = ''

  /** @param folder its working folder */
  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder
    this.#env = env
  }

  /** The lines that the supervisors and their nodes have printed. */
  get output(): string {
    return this.#output
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get hasEnded(): boolean {
    return this.#child === null || this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Runs a command that becomes the supervisor. */
  start(
    command: string,
    args: readonly string[] = [],
    { socket, ownGroup = false }: StartOptions = {},
  ): void {
    const passing = socket === undefined ? '' : 'export LISTEN_FDS=1 LISTEN_PID=$$; '
    const child = spawn('/bin/sh', ['-c', `${passing}exec "$0" "$@"`, command, ...args], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe', ...(socket === undefined ? [] : [socket])],
      detached: ownGroup,
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
      })
    }
  }

  /** Waits until it has printed a text. */
  async printed(text: string): Promise<void> {
    while (!this.#output.includes(text)) await once(this.#child?.stdout ?? process, 'data')
  }

  /** Ends the supervisor with a signal, and waits until it has ended. After SIGKILL, the node ends a moment later. */
  async end(signal: NodeJS.Signals): Promise<End> {
    const child = this.#child
    if (child === null || this.hasEnded) return [child?.exitCode ?? null, child?.signalCode ?? null]
    // The streams close when no process writes to them.
    const ended = once(child, signal === 'SIGKILL' ? 'exit' : 'close')
    child.kill(signal)
    return (await ended) as [number | null, NodeJS.Signals | null]
  }

  /** Waits until supervisor and node have ended by themselves. */
  async ended(): Promise<End> {
    return (await once(this.#child ?? process, 'close')) as [number | null, NodeJS.Signals | null]
  }
}
