import { lookup } from 'node:dns/promises'
import { lstatSync, rmSync } from 'node:fs'
import { type AddressInfo, BoundSocket } from 'node:net'
import { listenProblem, messageOf } from '@nodekeep/plugin-sdk/supervision'
import type { HttpServer } from './http-server.ts'

/**
 * Takes a port without listening on it: nobody can connect until {@link listen}.
 *
 * @throws Error with one line that says what to do
 */
export async function bindPort(host: string, port: number): Promise<BoundSocket> {
  try {
    const { address } = await lookup(host)
    return new BoundSocket({ host: address, port })
  } catch (error) {
    throw new Error(listenProblem(error as NodeJS.ErrnoException, host, port), { cause: error })
  }
}

/**
 * Listens on a socket that is bound already.
 *
 * @param socket the socket, or its descriptor
 * @throws Error with one line that says what to do
 */
export async function listen(
  server: HttpServer,
  { host, port }: { readonly host: string; readonly port: number },
  socket: BoundSocket | number,
): Promise<AddressInfo> {
  try {
    return (await server.listen(
      typeof socket === 'number' ? { fd: socket } : { handle: socket },
    )) as AddressInfo
  } catch (error) {
    throw new Error(listenProblem(error as NodeJS.ErrnoException, host, port), { cause: error })
  }
}

/**
 * Listens on a Unix domain socket that only the user of this process can open, or on a pipe of Windows. A socket that a killed
 * process left there is replaced.
 *
 * @throws Error with one line for a person
 */
export async function listenOnSocket(server: HttpServer, path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path)
  // Between the creation of the socket and a change of its mode, another user could connect.
  const before = process.umask(0o077)
  const opened = server.listen({ path })
  process.umask(before)
  await opened.catch((error: unknown) => {
    throw new Error(`The node cannot make the socket ${path}: ${messageOf(error)}`, { cause: error })
  })
}

/**
 * Returns a URL for a browser on this machine. For a wildcard address it names 127.0.0.1, as a node does that listens on this machine
 * alone: browsers keep keys and sessions for one address, so that another name would lose them when a node opens to its network.
 */
export function urlOf({ address, family, port }: AddressInfo): URL {
  if (isWildcard(address)) return new URL(`http://127.0.0.1:${port}`)
  return new URL(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}`)
}

/** Whether an address to listen on stands for all addresses of the machine. */
export function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::'
}
