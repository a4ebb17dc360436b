import { addressGroup } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import { ByteRate } from './byte-rate.ts'

/** Addresses whose rates are remembered. Without that, clients that come again and again would have a burst each time. */
const maxAddresses = 10_000

/** Holds the connections to each address together to a rate. For IPv6, a network of 64 bits is one address. */
export class AddressRates {
  readonly #bytesPerSecond: number
  readonly #rates = new LRUCache<string, ByteRate>({ max: maxAddresses })

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond
  }

  /** Returns the rate of an address. */
  of(address: string): ByteRate {
    const group = addressGroup(address)
    const known = this.#rates.get(group)
    if (known !== undefined) return known
    const rate = new ByteRate(this.#bytesPerSecond)
    this.#rates.set(group, rate)
    return rate
  }
}
