import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Share } from '../share.ts'
import type { ShareTable } from '../tables/share-table.ts'

/** Files and bytes that guests may still upload. */
export interface Left {
  readonly files: number
  readonly bytes: number
}

/** Uploads of one network, and of one link, that are not complete. */
const mostOfNetwork = 64
const mostOfLink = 256

/** A part of what guests may upload by a link, for one file that is being uploaded. */
export class Allowance {
  readonly share: string
  readonly network: string
  readonly #allowances: Allowances
  bytes = 0

  constructor(allowances: Allowances, share: string, network: string) {
    this.#allowances = allowances
    this.share = share
    this.network = network
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if guests may not upload as many bytes */
  extend(bytes: number): void {
    const left = this.#allowances.left(this.share).bytes
    if (bytes > left) {
      throw new NodekeepError(
        'INSUFFICIENT_STORAGE',
        `This link takes at most ${left.toLocaleString('en')} more bytes.`,
      )
    }
    this.bytes += bytes
  }

  /** The file is stored, and counts for good. */
  spend(): void {
    this.#allowances.spend(this)
  }

  /** The upload ended without a file. A second call does nothing. */
  release(): void {
    this.#allowances.release(this)
  }
}

/**
 * Bounds what guests upload by each link. Each upload has its part from its begin on, so of many guests at the limit as many succeed
 * as there is room for, and none is refused at its end.
 */
export class Allowances {
  readonly #shares: ShareTable
  readonly #open = new Set<Allowance>()

  constructor(shares: ShareTable) {
    this.#shares = shares
  }

  left(id: string): Left {
    const share = this.#shares.get(id)
    const open = this.#of(id)
    const bytes = open.reduce((sum, allowance) => sum + allowance.bytes, 0)
    return {
      files: Math.max(0, (share?.maxFiles ?? 0) - (share?.droppedFiles ?? 0) - open.length),
      bytes: Math.max(0, (share?.maxBytes ?? 0) - (share?.droppedBytes ?? 0) - bytes),
    }
  }

  /**
   * Takes the allowance for one file.
   *
   * @param network that of the guest's address
   * @throws NodekeepError INSUFFICIENT_STORAGE, TOO_MANY_REQUESTS
   */
  take({ id, maxFiles }: Pick<Share, 'id' | 'maxFiles'>, network: string, bytes: number): Allowance {
    const open = this.#of(id)
    const ofNetwork = open.filter((other) => other.network === network)
    if (ofNetwork.length >= mostOfNetwork || open.length >= mostOfLink)
      throw new NodekeepError('TOO_MANY_REQUESTS', 'Too many uploads by this link have not ended yet.', {
        headers: { 'retry-after': '30' },
      })
    if (this.left(id).files < 1)
      throw new NodekeepError('INSUFFICIENT_STORAGE', `This link takes no more than ${maxFiles} files.`)
    const allowance = new Allowance(this, id, network)
    allowance.extend(bytes)
    this.#open.add(allowance)
    return allowance
  }

  /** Takes the allowance of an upload that began before a restart. */
  resume(share: string, network: string, bytes: number): Allowance {
    const allowance = new Allowance(this, share, network)
    allowance.bytes = bytes
    this.#open.add(allowance)
    return allowance
  }

  spend(allowance: Allowance): void {
    if (this.#open.delete(allowance)) this.#shares.countDrop(allowance.share, allowance.bytes)
  }

  release(allowance: Allowance): void {
    this.#open.delete(allowance)
  }

  #of(share: string): Allowance[] {
    return [...this.#open].filter((allowance) => allowance.share === share)
  }
}
