import { rmSync } from 'node:fs'
import { untilAborted } from '@nodekeep/plugin-sdk'
import { type Configuration, loadConfiguration } from '../../configuration/configuration.ts'
import type { ConfigurationSources } from '../../configuration/layers.ts'
import { type NodeOptions, type RunningNode, startOnTrial } from '../../node.ts'

/** Messages of the program that spawned this process with an IPC channel; see "A start on trial" in the README. */
type FromParent =
  | {
      readonly nodekeep: 'configuration'
      readonly sources: ConfigurationSources
      readonly temporary: string | null
    }
  | { readonly nodekeep: 'admit' }
  | { readonly nodekeep: 'session'; readonly user: string }
  | { readonly nodekeep: 'health' }
  // The launcher of a checkout, which has a channel to this process, was started without one.
  | { readonly nodekeep: 'no parent' }

/**
 * Asks the parent for the configuration: `{ nodekeep: 'configure' }` is answered by
 * `{ nodekeep: 'configuration', sources, temporary }`. The folder `temporary` is removed when this process ends.
 *
 * @throws ConfigurationError; Error if there is no parent, or if it has ended; the signal's reason
 */
export async function askParent(signal: AbortSignal): Promise<Configuration> {
  const { promise, resolve } = Promise.withResolvers<Extract<FromParent, { nodekeep: 'configuration' }>>()
  using parent = listenToParent('--configured-by-parent', signal, (message) => {
    if (message.nodekeep === 'configuration') resolve(message)
  })
  // Nothing else keeps this process alive until the answer comes.
  process.channel?.ref()
  toParent({ nodekeep: 'configure' })
  const { sources, temporary } = await untilAborted(promise, parent.signal)
  if (temporary !== null) process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
  return loadConfiguration(sources)
}

/**
 * Starts the node on trial for the parent. It tells the parent `{ nodekeep: 'on trial' }`, waits for `{ nodekeep: 'admit' }`, and
 * lets clients in. Meanwhile it answers `{ nodekeep: 'session', user }` by a session of the user,
 * `{ nodekeep: 'session', user, token }`.
 *
 * A supervisor also asks for its health, which is answered by `{ nodekeep: 'health', serving, failing }`.
 *
 * @param socket the path of the socket on which only the parent reaches the node; `null` for none
 * @throws the errors of a start; Error if there is no parent, or if it has ended; the signal's reason
 */
export async function startForParent(
  parts: NodeOptions & { readonly signal: AbortSignal },
  socket: string | null,
): Promise<RunningNode> {
  const admitted = Promise.withResolvers<void>()
  let trial: Awaited<ReturnType<typeof startOnTrial>> | undefined
  using parent = listenToParent('--trial', parts.signal, (message) => {
    if (message.nodekeep === 'admit') admitted.resolve()
    if (message.nodekeep === 'session' && trial) void giveSession(trial.issueSession, message.user)
    if (message.nodekeep === 'health')
      void trial?.health().then((found) => toParent({ nodekeep: 'health', ...found }))
  })
  parent.signal.throwIfAborted()
  trial = await startOnTrial({ ...parts, signal: parent.signal }, socket)
  const supervised = socket === null ? { contractions: await trial.contractions() } : {}
  toParent({ nodekeep: 'on trial', ...supervised })
  try {
    await untilAborted(admitted.promise, parent.signal)
  } catch (error) {
    await trial.stop()
    throw error
  }
  return trial.admit()
}

/** Sends the last message to the parent, and waits until it is on its way. */
export function lastToParent(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}

/** Sends a message to the parent. There may be none, or it may be gone. */
export function toParent(message: object): void {
  process.send?.(message, undefined, undefined, () => {})
}

/**
 * Listens to the parent.
 *
 * @param option the option that needs a parent, for the message
 * @returns a signal that is aborted by `stop`, when the parent is gone, and if there is none
 */
function listenToParent(
  option: string,
  stop: AbortSignal,
  hear: (message: FromParent) => void,
): Disposable & { readonly signal: AbortSignal } {
  const lost = new AbortController()
  const refuse = () =>
    lost.abort(
      new Error(
        `"${option}" is for programs that start a node with an IPC channel. Start the node without this option.`,
      ),
    )
  const leave = () => lost.abort(new Error('The program that started this trial has ended.'))
  const onMessage = (message: unknown) => {
    const heard = message as FromParent | null
    if (heard?.nodekeep === 'no parent') refuse()
    else if (heard !== null) hear(heard)
  }
  process.on('message', onMessage)
  process.on('disconnect', leave)
  if (process.send === undefined) refuse()
  else if (!process.connected) leave()
  return {
    signal: AbortSignal.any([stop, lost.signal]),
    [Symbol.dispose]() {
      process.off('message', onMessage)
      process.off('disconnect', leave)
    },
  }
}

/** The token is `null` if there is no such user. */
async function giveSession(issueSession: RunningNode['issueSession'], user: string): Promise<void> {
  const token = await issueSession({ userUuid: user, label: 'trial', expiryDays: 1 }).then(
    (issued) => issued.token,
    () => null,
  )
  toParent({ nodekeep: 'session', user, token })
}
