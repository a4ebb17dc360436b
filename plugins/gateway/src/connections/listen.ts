import { once } from 'node:events'
import type { Server } from 'node:net'

/** Connections that may wait to be accepted. With the 511 of Node, Linux resets some of a crowd that waits for longer than a second. */
const backlog = 4096

/**
 * Begins to listen.
 *
 * @param host empty for all addresses
 * @throws Error of the system, such as EADDRINUSE
 */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ port, backlog, ...(host === '' ? {} : { host }) })
  await once(server, 'listening')
}
