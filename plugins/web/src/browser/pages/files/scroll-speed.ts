import { signal } from '@preact/signals'

/** Pixels per millisecond from which on nobody recognizes what passes: some four windows of a laptop in a second. */
const fast = 3

/** Milliseconds without scrolling after which nothing passes any more. */
const restMs = 120

/** How fast a person scrolls. Pictures that only pass by are not loaded: the node makes each of them when it is asked. */
export class ScrollSpeed {
  readonly isFast = signal(false)
  #top = 0
  #at = 0
  #rest: ReturnType<typeof setTimeout> | undefined

  /**
   * @param top where the person is, in pixels
   * @param now the time of the event, in milliseconds
   */
  scrolled(top: number, now: number): void {
    const speed = Math.abs(top - this.#top) / Math.max(now - this.#at, 1)
    this.#top = top
    this.#at = now
    clearTimeout(this.#rest)
    this.isFast.value = speed > fast
    if (speed > fast)
      this.#rest = setTimeout(() => {
        this.isFast.value = false
      }, restMs)
  }
}
