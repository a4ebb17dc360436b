import type { Run } from './run.ts'

/** What is to be expected of a run. */
export type Expectation = 'short' | 'long' | 'unknown'

/** So many callers are remembered, and so many modules of each. */
const mostCallers = 1000
const mostModules = 100

/** Whoever held others up is not put together with them for so long, in milliseconds. */
const apartMs = 10_000

interface CallerHistory {
  readonly modules: Map<string, 'short' | 'long'>
  /** When a run of theirs turned out to take long that others could have been behind. */
  heldUpAt: number
}

/**
 * Remembers how long calls took: what may be expected of a call is what the same caller's last one of the same module
 * did. What a module is made to do by one caller says nothing of what it does for another.
 */
export class RunHistory {
  readonly #callers = new Map<string, CallerHistory>()
  readonly #known = { short: 0, long: 0 }
  readonly #now: () => number

  /** @param now a clock that is never set, in milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  get anyShort(): boolean {
    return this.#known.short > 0
  }

  get anyLong(): boolean {
    return this.#known.long > 0
  }

  expects({ caller, module, putBack, deaths }: Run): Expectation {
    if (putBack || deaths > 0) return 'long'
    const history = this.#callers.get(caller)
    const last = history?.modules.get(module.hash)
    if (history === undefined || last === undefined) return 'unknown'
    const apart = history.heldUpAt > Number.NEGATIVE_INFINITY && this.#now() - history.heldUpAt < apartMs
    return apart && last === 'short' ? 'unknown' : last
  }

  /** Notes how a run went. Functions are listed once for all callers, so that this tells nothing of calls. */
  note({ caller, module, work }: Run, took: 'short' | 'long'): void {
    if (work.kind === 'list') return
    const { modules } = this.#of(caller)
    const last = modules.get(module.hash)
    if (last === took) return
    if (last !== undefined) this.#known[last] -= 1
    this.#known[took] += 1
    modules.set(module.hash, took)
    const [oldest] = modules.keys()
    if (modules.size > mostModules && oldest !== undefined) this.#forget(modules, oldest)
  }

  /** Notes that a run takes long that others may be behind. */
  noteHeldUp(run: Run): void {
    this.note(run, 'long')
    this.#of(run.caller).heldUpAt = this.#now()
  }

  #of(caller: string): CallerHistory {
    const known = this.#callers.get(caller)
    if (known !== undefined) return known
    const history: CallerHistory = { modules: new Map(), heldUpAt: Number.NEGATIVE_INFINITY }
    this.#callers.set(caller, history)
    const [oldest] = this.#callers
    if (this.#callers.size > mostCallers && oldest !== undefined) {
      const [name, { modules }] = oldest
      for (const hash of modules.keys()) this.#forget(modules, hash)
      this.#callers.delete(name)
    }
    return history
  }

  #forget(modules: CallerHistory['modules'], hash: string): void {
    const last = modules.get(hash)
    if (last !== undefined) this.#known[last] -= 1
    modules.delete(hash)
  }
}
