import type { Socket } from 'node:net'
import { isNodekeepError, NodekeepError, untilAborted } from '@nodekeep/plugin-sdk'
import { dial as dialTcp, type OwnAddress } from '../addresses/own-address.ts'
import { startTls } from '../connections/start-tls.ts'
import { probe } from '../reachability/probe.ts'
import { publicAddressOf, type Resolve, resolveBySystem } from './public-address.ts'

interface AddressProofOptions {
  readonly resolve?: Resolve
  /** Opens a TCP connection. */
  readonly dial?: (address: OwnAddress) => Socket
  readonly timeoutMs?: number
}

/** Proofs at a time. Each one makes the gateway connect to an address that a stranger names. */
const maxRunning = 8

/**
 * Proves that a node answers at an address on the internet: the gateway comes to it as a client does, and the node signs a nonce.
 * It looks the address up once, connects to none but addresses of the internet, follows no redirects, and reads no more than a
 * few kilobytes.
 */
export class AddressProof {
  readonly #options: Required<AddressProofOptions>
  #running = 0

  constructor({ resolve = resolveBySystem, dial = dialTcp, timeoutMs = 10_000 }: AddressProofOptions = {}) {
    this.#options = { resolve, dial, timeoutMs }
  }

  /**
   * @param url the address, with https
   * @throws NodekeepError VALIDATION_ERROR if the address is not of the internet, UNPROCESSABLE if the node does not answer
   * there, SERVICE_UNAVAILABLE if too many proofs are running
   */
  async prove(url: URL, nodeId: string): Promise<OwnAddress> {
    if (this.#running >= maxRunning) {
      throw new NodekeepError(
        'SERVICE_UNAVAILABLE',
        'The gateway is checking other addresses. Try again soon.',
        {
          headers: { 'retry-after': '10' },
          logged: true,
        },
      )
    }
    this.#running += 1
    try {
      return await this.#prove(url, nodeId)
    } finally {
      this.#running -= 1
    }
  }

  async #prove(url: URL, nodeId: string): Promise<OwnAddress> {
    const { resolve, dial, timeoutMs } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    let socket: Socket | undefined
    try {
      const address = await untilAborted(publicAddressOf(url, resolve), signal)
      const proven = { address, port: Number(url.port || 443) }
      socket = dial(proven)
      await probe(await startTls(socket, url.hostname, signal), url.origin, nodeId, signal)
      return proven
    } catch (cause) {
      if (isNodekeepError(cause)) throw cause
      // No details: they would tell strangers about the ports and programs of other machines.
      throw new NodekeepError(
        'UNPROCESSABLE',
        `The node ${nodeId} does not answer at ${url.origin}. Check that this address reaches it from the internet, and try again.`,
        { cause },
      )
    } finally {
      socket?.destroy()
    }
  }
}
