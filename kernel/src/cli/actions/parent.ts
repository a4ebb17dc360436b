import { rmSync } from 'node:fs'
import { conflict, type SupervisorLink, untilAborted } from '@nodekeep/plugin-sdk'
import type { FromParent, ToParent } from '@nodekeep/plugin-sdk/supervision'
import { type Configuration, loadConfiguration } from '../../configuration/configuration.ts'
import type { ConfigurationSources } from '../../configuration/layers.ts'
import { type NodeOptions, type RunningNode, startOnTrial } from '../../node.ts'

type Message<Kind> = Extract<FromParent, { nodekeep: Kind }>

/** The supervisor of this process. */
interface ConnectedSupervisor extends SupervisorLink {
  /** Whether no client may reach the node before the supervisor admits it. */
  readonly onTrial: boolean
}

/** The options of `start` that need a program that has spawned this process with an IPC channel. */
export type ParentOption = '--supervised' | '--watched' | '--trial' | '--configured-by-parent'

/** The options whose parent stops the node by a message, and the node stops when that parent has ended. */
const untilParentEnds: readonly ParentOption[] = ['--supervised', '--watched']

/** The program that has spawned this process with an IPC channel; see "A start on trial" in the README. */
export class Parent {
  readonly #option: ParentOption
  readonly #stop: () => void
  readonly #lost = new AbortController()
  readonly #stopNow = new AbortController()
  readonly #signal: AbortSignal
  readonly #first = Promise.withResolvers<Message<'supervisor'>>()
  readonly #configuration = Promise.withResolvers<Message<'configuration'>>()
  readonly #admitted = Promise.withResolvers<void>()
  readonly #requests = new Map<number, PromiseWithResolvers<void>>()
  #trial: Awaited<ReturnType<typeof startOnTrial>> | null = null
  /** Whether the start depends on the parent. */
  #isNeeded = true
  #waitMs = 0
  #lastId = 0

  /**
   * Listens to the parent.
   *
   * @param option the first option that needs a parent
   * @param signal aborts the waiting for the parent
   * @param stop is called when a supervisor asks the node to stop, and when it is gone: a node that outlives it would keep the next one
   *   from starting
   */
  constructor(option: ParentOption, signal: AbortSignal, stop: () => void) {
    this.#option = option
    this.#stop = stop
    this.#signal = AbortSignal.any([signal, this.#lost.signal])
    process.on('message', (message: FromParent | null) => {
      if (message !== null) this.#receive(message)
    })
    process.on('disconnect', () => this.#leave())
    if (process.send === undefined) this.#refuse()
    else if (!process.connected) this.#leave()
    // Nothing else keeps this process alive until the parent has answered.
    else process.channel?.ref()
  }

  /** The milliseconds to wait for requests that run, once the supervisor has asked the node to stop. */
  get waitMs(): number {
    return this.#waitMs
  }

  /** Aborted when the supervisor asks the node to stop without waiting. */
  get stopNow(): AbortSignal {
    return this.#stopNow.signal
  }

  /**
   * Waits for the first message of the supervisor.
   *
   * @param args the arguments that select the configuration
   * @throws Error if the parent is no supervisor, or if it has ended; the signal's reason
   */
  async supervisor(args: readonly string[]): Promise<ConnectedSupervisor> {
    const { releases, onTrial } = await untilAborted(this.#first.promise, this.#signal)
    return {
      releases,
      args,
      onTrial,
      ask: (request) => {
        const asked = Promise.withResolvers<void>()
        this.#lastId += 1
        this.#requests.set(this.#lastId, asked)
        toParent({ ...request, id: this.#lastId })
        return asked.promise
      },
    }
  }

  /**
   * Asks the parent for the configuration. Its folder `temporary` is removed when this process ends.
   *
   * @throws ConfigurationError; Error if there is no parent, or if it has ended; the signal's reason
   */
  async configuration(): Promise<Configuration> {
    toParent({ nodekeep: 'configure' })
    const { sources, temporary } = await untilAborted(this.#configuration.promise, this.#signal)
    if (temporary !== null) process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
    return loadConfiguration(sources as ConfigurationSources)
  }

  /**
   * Starts the node on trial, and waits until the parent lets clients in. Meanwhile the parent may ask for its health, and for sessions of
   * users.
   *
   * @param socket the path of the socket on which only the parent reaches the node; `null` for none
   * @throws the errors of a start; Error if there is no parent, or if it has ended; the signal's reason
   */
  async trial(parts: NodeOptions, socket: string | null): Promise<RunningNode> {
    this.#signal.throwIfAborted()
    const trial = await startOnTrial({ ...parts, signal: this.#signal }, socket)
    this.#trial = trial
    toParent({ nodekeep: 'on trial', contractions: await trial.contractions() })
    try {
      await untilAborted(this.#admitted.promise, this.#signal)
    } catch (error) {
      await trial.stop()
      throw error
    } finally {
      this.#trial = null
      this.#isNeeded = false
    }
    return trial.admit()
  }

  #receive(message: FromParent): void {
    switch (message.nodekeep) {
      case 'no parent':
        this.#refuse()
        break
      case 'supervisor':
        this.#first.resolve(message)
        break
      case 'configuration':
        this.#configuration.resolve(message)
        break
      case 'alive':
        toParent({ nodekeep: 'alive' })
        break
      case 'health':
        void this.#trial?.health().then((found) => toParent({ nodekeep: 'health', ...found }))
        break
      case 'session':
        void this.#giveSession(message.user)
        break
      case 'admit':
        this.#admitted.resolve()
        break
      case 'stop':
        if (message.patienceMs === 0) this.#stopNow.abort()
        this.#waitMs = message.patienceMs
        this.#stop()
        break
      case 'answer':
        this.#answer(message)
    }
  }

  #answer({ id, refused }: Message<'answer'>): void {
    const asked = this.#requests.get(id)
    if (refused === null) asked?.resolve()
    else asked?.reject(conflict(refused))
    this.#requests.delete(id)
  }

  /** The token is `null` if there is no such user. Sessions are for the trial only. */
  async #giveSession(user: string): Promise<void> {
    if (this.#trial === null) return
    const session = { userUuid: user, label: 'trial', expiryDays: 1 }
    const token = await this.#trial.issueSession(session).then(
      (issued) => issued.token,
      () => null,
    )
    toParent({ nodekeep: 'session', user, token })
  }

  #refuse(): void {
    const sentence =
      this.#option === '--supervised'
        ? '"--supervised" is for "nodekeep supervise", which starts the node itself. Run that command.'
        : `"${this.#option}" is for programs that start a node with an IPC channel. Start the node without this option.`
    this.#lost.abort(new Error(sentence))
  }

  #leave(): void {
    if (this.#isNeeded) this.#lost.abort(new Error('The program that started this trial has ended.'))
    if (!untilParentEnds.includes(this.#option)) return
    this.#stopNow.abort()
    this.#stop()
  }
}

/** Sends the last message to the parent, and waits until it is on its way. */
export function lastToParent(message: ToParent): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}

/** Sends a message to the parent. There may be none, or it may be gone. */
export function toParent(message: ToParent): void {
  process.send?.(message, undefined, undefined, () => {})
}
