import { spawn } from 'node:child_process'
import { ChildNode, messageOf, type ReleaseRequest, type ToParent } from '@nodekeep/plugin-sdk/supervision'
import { killLeftProcesses, markOf } from './left-processes.ts'
import { commandOf } from './release-folder.ts'
import type { SupervisorLog } from './supervisor-log.ts'

/** How a node is started. */
interface NodeStart {
  /** The absolute path of its release. */
  readonly release: string
  /** The arguments of `nodekeep start`. */
  readonly args: readonly string[]
  /** The descriptor of the socket on which it listens. */
  readonly socket: number
  /** The folder for releases. */
  readonly releases: string
  readonly onTrial: boolean
  readonly log: Pick<SupervisorLog, 'warn'>
}

/** The end of a node. */
export interface NodeEnd {
  readonly code: number | null
  /** Whether clients could reach it. */
  readonly hasServed: boolean
  /** The reason in one sentence for people. */
  readonly reason: string
  /** Whether the node refused its configuration. */
  readonly isConfiguration: boolean
}

/** A node that does not end when it is told to is killed after this time, in milliseconds. */
const graceMs = 20_000

/** A node in a process of its own, with a channel to it. */
export class NodeProcess {
  /** Resolves when the process has ended, with all processes that it has left behind. */
  readonly ended: Promise<NodeEnd>
  /** Resolves when clients can reach it. */
  readonly serving: Promise<void>
  readonly release: string
  readonly #child: ChildNode
  readonly #trial = Promise.withResolvers<readonly string[]>()
  readonly #requests: ReleaseRequest[] = []
  #onRequest: ((request: ReleaseRequest) => void) | null = null
  #health: PromiseWithResolvers<Extract<ToParent, { nodekeep: 'health' }>> | null = null
  #hasServed = false
  #lastSign = performance.now()
  #refusal: Extract<ToParent, { nodekeep: 'cannot start' }> | null = null
  #isHanging = false

  constructor({ release, args, socket, releases, onTrial, log }: NodeStart) {
    this.release = release
    const { LISTEN_PID, LISTEN_FDNAMES, ...environment } = process.env
    const child = spawn(commandOf(release), ['start', '--supervised', ...args], {
      stdio: ['inherit', 'inherit', 'inherit', socket, 'ipc'],
      // The convention of sd_listen_fds(3): the first socket is the descriptor 3.
      env: { ...environment, ...markOf(releases), LISTEN_FDS: '1' },
    })
    const serving = Promise.withResolvers<void>()
    this.serving = serving.promise
    this.#child = new ChildNode(child, (message) => {
      this.#lastSign = performance.now()
      switch (message.nodekeep) {
        case 'on trial':
          return this.#trial.resolve(message.contractions)
        case 'health':
          return this.#health?.resolve(message)
        case 'serving':
          this.#hasServed = true
          return serving.resolve()
        case 'cannot start':
          // A configuration with several problems has one line for each.
          this.#refusal = { ...message, reason: message.reason.replaceAll(/\s*\n\s*/g, ' ') }
          return
        case 'change release':
        case 'go back':
          if (this.#onRequest === null) this.#requests.push(message)
          else this.#onRequest(message)
      }
    })
    this.ended = this.#child.ended.then(({ code, signal, error }) => {
      const { length } = killLeftProcesses(releases)
      if (length > 0) log.warn(`The node has left ${length} of its processes behind. They were killed.`)
      const how =
        error !== null
          ? `${commandOf(release)} cannot be run: ${messageOf(error)}.`
          : signal === null
            ? `It ended with the code ${code}.`
            : `It was ended by ${signal}.`
      return {
        code,
        hasServed: this.#hasServed,
        reason: this.#isHanging
          ? 'It did not answer any more and was killed.'
          : (this.#refusal?.reason ?? how),
        isConfiguration: this.#refusal?.isConfiguration === true,
      }
    })
    this.#child.send({ nodekeep: 'supervisor', releases, onTrial })
  }

  /** Resolves when the node has started on trial, with its migrations that the former release cannot undo. */
  get onTrial(): Promise<readonly string[]> {
    return this.#trial.promise
  }

  /** Receives the requests of the node for another release. */
  onRequest(receive: (request: ReleaseRequest) => void): void {
    this.#onRequest = receive
    for (const request of this.#requests.splice(0)) receive(request)
  }

  answer({ id }: ReleaseRequest, refused: string | null): void {
    this.#child.send({ nodekeep: 'answer', id, refused })
  }

  /** Asks a node on trial for its health, which it checks again. */
  health(): Promise<Extract<ToParent, { nodekeep: 'health' }>> {
    this.#health = Promise.withResolvers()
    this.#child.send({ nodekeep: 'health' })
    return this.#health.promise
  }

  /** Lets clients in. */
  admit(): void {
    this.#child.send({ nodekeep: 'admit' })
  }

  /**
   * Kills the node if it gives no sign of life for a time. Only a node that serves is watched: migrations may keep the event loop of a
   * start busy.
   */
  async watch(limitMs: number): Promise<void> {
    await this.serving
    const everyMs = limitMs / 6
    let checkedAt = performance.now()
    this.#lastSign = checkedAt
    const timer = setInterval(() => {
      const now = performance.now()
      // When this process has been standing still itself, such as on a machine that was suspended, nothing is known.
      if (now - checkedAt > 2 * everyMs) this.#lastSign = now
      checkedAt = now
      if (now - this.#lastSign > limitMs) {
        this.#isHanging = true
        this.kill()
      } else this.#child.send({ nodekeep: 'alive' })
    }, everyMs)
    await this.ended
    clearInterval(timer)
  }

  /**
   * Asks the node to end, and waits for that. A node that has not ended in time is killed.
   *
   * @param drainMs the time to wait for requests that run, before it stops to listen
   */
  async stop(drainMs = 0): Promise<NodeEnd> {
    this.askToStop(drainMs)
    await this.#child.endsWithin(drainMs + graceMs)
    return this.ended
  }

  /** Asks the node to end, however long that takes. Asking again changes nothing. */
  askToStop(drainMs = 0): void {
    this.#child.send({ nodekeep: 'stop', patienceMs: drainMs })
  }

  /** Ends the node at once. */
  kill(): void {
    this.#child.kill()
  }
}
