import type { Run } from './run.ts'

/** What is to be expected of a run. */
export type Expectation = 'short' | 'long' | 'unknown'

/** So many callers are remembered, and so many modules of each. */
const mostCallers = 1000
const mostModules = 100
/** So many modules that were listed. */
const mostLists = 1000

/** Whoever held others up is not put together with them for so long, in milliseconds. */
const apartMs = 10_000

/** After so long without short calls, in milliseconds, no more of them are expected. */
const quietMs = 10_000

interface CallerHistory {
  readonly modules: Map<string, 'short' | 'long'>
  /** When a run of theirs turned out to take long that others could have been behind. */
  heldUpAt: number
}

/**
 * Remembers how long calls took: what may be expected of a call is what the same caller's last one of the same module
 * did. What a module is made to do by one caller says nothing of what it does for another. Its functions are listed for
 * all callers together.
 */
export class RunHistory {
  readonly #callers = new Map<string, CallerHistory>()
  readonly #lists: CallerHistory = newHistory()
  readonly #now: () => number
  #long = 0
  #shortAt = Number.NEGATIVE_INFINITY

  /** @param now a clock that is never set, in milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Whether any run is expected to take long. */
  get anyLong(): boolean {
    return this.#long > 0
  }

  /** Whether a call was short lately. */
  get shortLately(): boolean {
    return this.#now() - this.#shortAt < quietMs
  }

  expects(run: Run): Expectation {
    if (run.putBack || run.deaths > 0) return 'long'
    const history = run.work.kind === 'list' ? this.#lists : this.#callers.get(run.caller)
    const last = history?.modules.get(run.module.hash)
    if (history === undefined || last === undefined) return 'unknown'
    const apart = history.heldUpAt > Number.NEGATIVE_INFINITY && this.#now() - history.heldUpAt < apartMs
    return apart && last === 'short' ? 'unknown' : last
  }

  /**
   * Notes how a run went.
   *
   * @param at when it was answered
   */
  note(run: Run, took: 'short' | 'long', at = this.#now()): void {
    const isList = run.work.kind === 'list'
    if (took === 'short' && !isList) this.#shortAt = at
    const { modules } = isList ? this.#lists : this.#of(run.caller)
    const { hash } = run.module
    const last = modules.get(hash)
    if (last === took) return
    if (last === 'long') this.#long -= 1
    if (took === 'long') this.#long += 1
    modules.set(hash, took)
    const [oldest] = modules.keys()
    if (modules.size > (isList ? mostLists : mostModules) && oldest !== undefined)
      this.#forget(modules, oldest)
  }

  /** Notes that a run takes long that runs of others may be behind. */
  noteHeldUp(run: Run): void {
    this.note(run, 'long')
    if (run.work.kind !== 'list') this.#of(run.caller).heldUpAt = this.#now()
  }

  #of(caller: string): CallerHistory {
    const known = this.#callers.get(caller)
    if (known !== undefined) return known
    const history = newHistory()
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
    if (modules.get(hash) === 'long') this.#long -= 1
    modules.delete(hash)
  }
}

function newHistory(): CallerHistory {
  return { modules: new Map(), heldUpAt: Number.NEGATIVE_INFINITY }
}
