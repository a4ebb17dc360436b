import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { place } from '../address.ts'
import { shownPage } from '../page-host.ts'
import { changes, signedOut } from '../session.ts'

interface FrameQuestion<T> {
  /** The path of the route. */
  readonly path: string
  /** Milliseconds for which an answer is new enough when the person goes to another place. */
  readonly freshMs: number
  /** Milliseconds between two questions while the person stays at one place; `null` for one question. */
  readonly everyMs: (answer: T | null) => number | null
}

/** Milliseconds without a change after which the node is asked again: a person may change much at once. */
const changedMs = 500

/** An answer of the node that the frame shows on every page, as long as the person is signed in. The page works without it. */
export class FrameAnswer<T> {
  readonly question: FrameQuestion<T>
  readonly value = signal<T | null>(null)
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(question: FrameQuestion<T>) {
    this.question = question
  }

  get isFresh(): boolean {
    return performance.now() - this.#askedAt < this.question.freshMs
  }

  async ask(): Promise<void> {
    const askedAt = performance.now()
    this.#askedAt = askedAt
    const signal = signedOut()
    const forget = () => {
      this.value.value = null
      this.#askedAt = Number.NEGATIVE_INFINITY
    }
    signal.addEventListener('abort', forget, { once: true })
    try {
      const answer = await fetch(this.question.path, { signal })
      const value = answer.ok ? ((await answer.json()) as T) : null
      // A later question may have its answer already.
      if (value !== null && this.#askedAt === askedAt) this.value.value = value
    } catch {
      // The node may be away, or the person has gone.
    }
    // Otherwise, each answer would leave a listener.
    signal.removeEventListener('abort', forget)
    if (signal.aborted) forget()
  }
}

/** Asks the node while a part of the frame is shown: at each place, after changes of the person, and after pauses. */
export function useFrameAnswer<T>(asked: FrameAnswer<T>): T | null {
  const { value } = asked.value
  const { value: change } = changes
  const everyMs = asked.question.everyMs(value)
  useLayoutEffect(() => {
    if (!asked.isFresh) void asked.ask()
  }, [shownPage.value?.name, place.value])
  useLayoutEffect(() => {
    if (change === 0) return
    const timer = setTimeout(() => void asked.ask(), changedMs)
    return () => clearTimeout(timer)
  }, [change])
  useLayoutEffect(() => {
    if (everyMs === null) return
    const timer = setInterval(() => {
      // A tab that nobody sees costs the node nothing.
      if (!document.hidden) void asked.ask()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return value
}
