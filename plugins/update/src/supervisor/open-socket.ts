import { lookup } from 'node:dns/promises'
import { BoundSocket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { listenProblem, takeInheritedSocket } from '@nodekeep/plugin-sdk/supervision'
import type { SupervisorLog } from './supervisor-log.ts'

/** The socket stays open as long as this process runs, so nothing may collect it. */
const held: BoundSocket[] = []

/**
 * Returns the socket that systemd has passed, or binds one. A process that listens on a socket takes connections from those who
 * share it, so this process never listens. While no node runs, connections wait in the system's queue.
 *
 * @param options.waitMs the maximum time to wait for a process that has the port and is about to end
 * @returns its descriptor
 * @throws Error with one sentence that says what to do
 */
export async function openSocket(
  { host, port }: { readonly host: string; readonly port: number },
  log: SupervisorLog,
  { waitMs }: { readonly waitMs: number },
): Promise<number> {
  const inherited = takeInheritedSocket()
  if (inherited !== null) return inherited
  try {
    const { address } = await lookup(host)
    const began = performance.now()
    for (let isFirst = true; ; isFirst = false) {
      try {
        const socket = new BoundSocket({ host: address, port })
        held.push(socket)
        return socket.fd()
      } catch (error) {
        const isInUse = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        if (!isInUse || performance.now() - began >= waitMs) throw error
        if (isFirst) log.info(`Port ${port} is still in use.`)
        await delay(100)
      }
    }
  } catch (error) {
    throw new Error(listenProblem(error as NodeJS.ErrnoException, host, port), { cause: error })
  }
}
