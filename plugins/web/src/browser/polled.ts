import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useMemo } from 'preact/hooks'
import { html } from './html.ts'
import { Refusal } from './refusal.ts'
import { type PlainRoute, reasonOf, request } from './request.ts'
import * as texts from './texts.ts'

/** Gets the JSON of a route. */
type Get = <R extends PlainRoute & `GET ${string}`>(route: R) => Promise<NodeAnswers[R]>

interface PollOptions<T> {
  load(get: Get): Promise<T>
  /** The pause after an answer, in milliseconds. */
  pauseMs(value: T | null): number
}

/** Something of the node, asked for again and again while it is shown. */
export class Polled<T> {
  /** `null` until the node has answered. */
  readonly value = signal<T | null>(null)
  /** The reason why the last answer failed; empty if it did not. The value before stays. */
  readonly fault = signal('')
  readonly #page: PageContext
  #options: PollOptions<T>
  #asking = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isEnded = false

  constructor(page: PageContext, options: PollOptions<T>) {
    this.#page = page
    this.#options = options
  }

  /** Whether the node has answered, or refused to. */
  get isKnown(): boolean {
    return this.value.value !== null || this.fault.value !== ''
  }

  /** Asks now, and from then on after each pause, until the end. */
  async refresh(): Promise<void> {
    if (this.#isEnded) return
    this.#interrupt()
    const asking = new AbortController()
    this.#asking = asking
    const { signal } = asking
    try {
      const value = await this.#options.load((route) => request(this.#page, route, { signal }))
      if (signal.aborted) return
      this.value.value = value
      this.fault.value = ''
    } catch (error) {
      if (signal.aborted) return
      this.fault.value = reasonOf(error)
      // The person did not want to sign in again, and is not asked after each pause.
      if (error instanceof Refusal && error.status === 401) return
    }
    this.#timer = setTimeout(() => void this.refresh(), this.#options.pauseMs(this.value.value))
  }

  end(): void {
    this.#isEnded = true
    this.#interrupt()
  }

  #interrupt(): void {
    clearTimeout(this.#timer)
    this.#asking.abort()
  }
}

/** Asks the node while a component is shown. */
export function usePolled<T>(page: PageContext, options: PollOptions<T>): Polled<T> {
  const polled = useMemo(() => new Polled(page, options), [])
  useLayoutEffect(() => {
    void polled.refresh()
    return () => polled.end()
  }, [])
  return polled
}

/** Says that the node has not answered yet, or why it refuses. */
export function PolledState({ of }: { of: Polled<unknown> }): VNode {
  return html`
    <p class="fault" role="alert">${of.fault.value}</p>
    <p class="hint">${!of.isKnown && texts.shell.loading}</p>
  `
}
