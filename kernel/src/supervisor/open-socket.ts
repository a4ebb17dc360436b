import { lookup } from 'node:dns/promises'
import { BoundSocket } from 'node:net'
import { takeInheritedSocket } from '../http/inherited-socket.ts'
import { listenProblem } from '../http/listen.ts'

/** The socket stays open as long as this process runs, so nothing may collect it. */
const held: BoundSocket[] = []

/**
 * Returns the socket that systemd has passed, or binds one. A process that listens on a socket takes connections from those who
 * share it, so this process never listens. While no node runs, connections wait in the system's queue.
 *
 * @returns its descriptor
 * @throws Error with one sentence that says what to do
 */
export async function openSocket(host: string, port: number): Promise<number> {
  const inherited = takeInheritedSocket()
  if (inherited !== null) return inherited
  try {
    const { address } = await lookup(host)
    const socket = new BoundSocket({ host: address, port })
    held.push(socket)
    return socket.fd()
  } catch (error) {
    throw new Error(listenProblem(error as NodeJS.ErrnoException, host, port), { cause: error })
  }
}
