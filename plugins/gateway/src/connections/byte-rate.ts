import type { Socket } from 'node:net'

interface Flow {
  readonly source: Socket
  readonly sink: Socket
}

/** The bytes of a burst, as seconds of the rate. */
const burstSeconds = 1

/** Holds all connections of a node together to a rate. Below the rate, it only counts. */
export class ByteRate {
  readonly #bytesPerSecond: number
  readonly #flows = new Set<Flow>()
  #budget: number
  #refilledAt = performance.now()
  #isHalted = false

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond
    this.#budget = bytesPerSecond * burstSeconds
  }

  /** Counts two connections that are piped into each other. */
  count(one: Socket, other: Socket): void {
    this.#add({ source: one, sink: other })
    this.#add({ source: other, sink: one })
  }

  #add(flow: Flow): void {
    const { source, sink } = flow
    this.#flows.add(flow)
    source.on('data', ({ length }: Buffer) => this.#spend(length))
    source.once('close', () => this.#flows.delete(flow))
    if (this.#isHalted) source.unpipe(sink)
  }

  #spend(bytes: number): void {
    const now = performance.now()
    const earned = ((now - this.#refilledAt) / 1000) * this.#bytesPerSecond
    this.#refilledAt = now
    this.#budget = Math.min(this.#budget + earned, this.#bytesPerSecond * burstSeconds) - bytes
    if (this.#budget >= 0 || this.#isHalted) return
    this.#isHalted = true
    for (const { source, sink } of this.#flows) source.unpipe(sink)
    setTimeout(() => this.#goOn(), (-this.#budget / this.#bytesPerSecond) * 1000)
  }

  #goOn(): void {
    this.#isHalted = false
    for (const { source, sink } of this.#flows) if (!sink.destroyed) source.pipe(sink)
  }
}
