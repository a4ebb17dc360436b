import { setImmediate as turn } from 'node:timers/promises'

interface Event {
  readonly at: number
  readonly order: number
  run: () => void
}

/** Simulated time. Everything that waits is an event, and one event happens after the other. So a seed repeats a whole run. */
export class SimulatedTime {
  /** Milliseconds since 1970. */
  now = Date.UTC(2026, 10, 23, 14, 5, 12)
  readonly #events: Event[] = []
  #count = 0

  /** Runs something after some milliseconds. */
  after(ms: number, run: () => void): void {
    this.#count += 1
    const event = { at: this.now + Math.max(0, ms), order: this.#count, run }
    let low = 0
    for (let high = this.#events.length; low < high; ) {
      const middle = (low + high) >> 1
      if (isLater(event, this.#events[middle] as Event)) high = middle
      else low = middle + 1
    }
    this.#events.splice(low, 0, event)
  }

  /** Lets some milliseconds go by, with all that happens in them. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms
    await turn()
    for (
      let event = this.#events.at(-1);
      event !== undefined && event.at <= end;
      event = this.#events.at(-1)
    ) {
      this.#events.pop()
      this.now = Math.max(this.now, event.at)
      event.run()
      // All that follows from the event happens before the next one.
      await turn()
    }
    this.now = end
  }
}

/** The next event is the last of the list. */
function isLater(one: Event, other: Event): boolean {
  return one.at > other.at || (one.at === other.at && one.order > other.order)
}
