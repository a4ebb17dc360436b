import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { CertificatePair } from '@nodekeep/plugin-sdk/server-tls'
import { moduleBeside } from '@nodekeep/plugin-sdk/threads'
import type { FromOrder, Issued, Order, OrderProblem } from './protocol.ts'

/** An order that takes longer is given up, in milliseconds. */
const orderMs = 5 * 60_000

/** An order failed at the authority, or on the way there. */
export class OrderFailure extends Error {
  override readonly name = 'OrderFailure'
  readonly problem: OrderProblem
  /** Whether the authority takes no orders of the account any more. */
  readonly isAccountClosed: boolean

  constructor(problem: OrderProblem, isAccountClosed = false) {
    super(problem.reason)
    this.problem = problem
    this.isAccountClosed = isAccountClosed
  }
}

/**
 * Orders a certificate. The client for ACME takes 40 MB of memory for as long as its process lives, so it has a process of its
 * own. An abort ends it at once.
 *
 * @param onChallenge is called before the authority connects to the name
 * @throws OrderFailure; the signal's reason
 */
export async function orderCertificate(
  order: Order,
  onChallenge: (pair: CertificatePair) => void,
  signal: AbortSignal,
): Promise<Issued> {
  signal.throwIfAborted()
  const program = fileURLToPath(moduleBeside(import.meta.url, 'order-process'))
  const child = fork(program, { execArgv: ['--no-warnings'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  const limit = AbortSignal.any([signal, AbortSignal.timeout(orderMs)])
  const kill = () => child.kill('SIGKILL')
  limit.addEventListener('abort', kill)
  try {
    return await new Promise((resolve, reject) => {
      child.on('message', (message: FromOrder) => {
        if (message.kind === 'issued') return resolve(message)
        if (message.kind === 'failed') return reject(new OrderFailure(message, message.isAccountClosed))
        try {
          onChallenge(message.pair)
          child.send('ready', () => {})
        } catch (error) {
          reject(error)
        }
      })
      exited.then(() => reject(ended(child.signalCode ?? `the code ${child.exitCode}`)), reject)
      child.send(order, () => {})
    })
  } catch (error) {
    signal.throwIfAborted()
    if (limit.aborted) {
      const reason = `The authority did not issue it within ${orderMs / 60_000} minutes.`
      throw new OrderFailure({ reason, retryAfterMs: 0 })
    }
    throw error
  } finally {
    limit.removeEventListener('abort', kill)
    kill()
    await exited.catch(() => {})
  }
}

function ended(how: string): OrderFailure {
  return new OrderFailure({ reason: `The process of the order ended with ${how}.`, retryAfterMs: 0 })
}
