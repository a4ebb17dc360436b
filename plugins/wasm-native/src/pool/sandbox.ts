import type { FrameReader } from '../protocol/frame-reader.ts'
import { Answer, Request } from '../protocol/messages.ts'
import { writeValues } from '../protocol/values.ts'
import { type CacheBounds, ModuleShelf } from './module-shelf.ts'
import { yieldToOthers } from './process-figures.ts'
import type { Run } from './run.ts'
import type { Expectation } from './run-history.ts'
import { type ProcessListener, SandboxProcess } from './sandbox-process.ts'
import { settle } from './settle.ts'
import { newStep, type Step } from './step.ts'

/** What a pool hears of a sandbox. */
export interface SandboxEvents {
  ready(sandbox: Sandbox): void
  /** A step was answered, after so many milliseconds in the sandbox. */
  answered(sandbox: Sandbox, step: Step, ms: number): void
  /** Runs could not be begun here, and have to be given to another one. */
  returned(runs: readonly Run[]): void
  /** The process is gone. Its steps are still there. */
  ended(sandbox: Sandbox): void
}

/** A process that does the steps it is sent one after the other. */
export class Sandbox implements ProcessListener {
  readonly memoryBytes: number
  readonly process: SandboxProcess
  readonly modules: ModuleShelf
  /** In the order in which they were sent, which is that of the answers. */
  readonly steps: Step[] = []
  ready = false
  /** Whether it was told to end, so that it takes no more. */
  doomed = false
  /** Whether nothing is to be put behind what it does, which takes long. */
  exclusive = false
  /**
   * The module of which nobody knows yet how long it takes: to be run by one caller, or, if it is null, to be loaded.
   * Until it has shown itself, no other is put behind it.
   */
  proving: { readonly hash: string; readonly caller: string | null } | null = null
  /** Whether it lets every other process go first. */
  yields = false
  /** Whether it has been looked at how much memory it kept, since it last took long. */
  weighed = true
  /** When it had its last answer, as `performance.now()`. */
  usedAt = performance.now()
  /** Runs that wait until the bytes of their module have come. */
  #fetching: { readonly hash: string; readonly runs: Run[] } | null = null
  readonly #events: SandboxEvents

  constructor(memoryBytes: number, bounds: CacheBounds, events: SandboxEvents) {
    this.memoryBytes = memoryBytes
    this.modules = new ModuleShelf(bounds)
    this.#events = events
    this.process = new SandboxProcess(memoryBytes, this)
  }

  get busy(): boolean {
    return this.steps.length > 0 || this.#fetching !== null
  }

  /** How many steps it has before it. */
  get load(): number {
    return this.steps.length + (this.#fetching?.runs.length ?? 0)
  }

  /** Whether a run can be put behind what it does. */
  admits({ module: { hash }, caller }: Run, expectation: Expectation): boolean {
    if (this.exclusive) return false
    if (this.proving === null) return expectation === 'short' && this.modules.has(hash)
    if (this.proving.hash !== hash) return false
    return this.proving.caller === null ? expectation === 'short' : this.proving.caller === caller
  }

  /** Whether a module was run here already. */
  knows(hash: string): boolean {
    return this.modules.has(hash) && this.proving?.hash !== hash
  }

  /** Takes on a run, which it admits, or any when it is not busy. */
  take(run: Run, expectation: Expectation): void {
    const { hash } = run.module
    if (!this.busy) {
      this.exclusive = expectation === 'long'
      if (expectation === 'unknown') this.proving = { hash, caller: run.caller }
      else if (!this.modules.has(hash)) this.proving = { hash, caller: null }
    }
    if (this.#fetching !== null) this.#fetching.runs.push(run)
    else if (this.modules.has(hash)) this.#send(run, this.modules.use(hash))
    else void this.#fetch(run)
  }

  /** Takes away the runs that wait for bytes. */
  takeWaiting(): Run[] {
    const runs = this.#fetching?.runs ?? []
    this.#fetching = null
    return runs
  }

  /** Forgets to wait for bytes that nobody wants any more. */
  giveUpFetching(): void {
    if (!this.#fetching?.runs.every(({ settled }) => settled)) return
    this.#fetching = null
    this.#rest()
    this.#events.returned([])
  }

  end(): void {
    this.doomed = true
    // Ending takes the processor, too.
    if (this.yields) yieldToOthers(this.process.pid, false)
    this.process.kill()
  }

  sent(now: number): void {
    const [step] = this.steps
    if (step?.began === Number.POSITIVE_INFINITY) step.began = now
  }

  answer(frame: FrameReader, now: number): void {
    this.usedAt = now
    if (frame.kind === Answer.ready) {
      this.ready = true
      this.#events.ready(this)
      return
    }
    const step = this.steps.shift()
    if (step === undefined) throw new RangeError('Nothing was asked for.')
    const ms = frame.uint32() / 1000
    const [next] = this.steps
    // The time that a module takes to load is that of the first run that wanted it.
    if (next !== undefined) next.began = step.kind === 'load' && next.run === step.run ? step.began : now
    if (step.kind !== 'load') settle(step.run, frame)
    if (!this.busy) this.#rest()
    this.#events.answered(this, step, ms)
  }

  ended(): void {
    this.doomed = true
    this.#events.ended(this)
  }

  /** Is anybody's again. */
  #rest(): void {
    this.exclusive = false
    this.proving = null
  }

  async #fetch(run: Run): Promise<void> {
    const fetching = { hash: run.module.hash, runs: [run] }
    this.#fetching = fetching
    const bytes = await bytesOf(run)
    if (this.#fetching !== fetching) return
    const wanted = this.takeWaiting().filter(({ settled }) => !settled)
    const [first] = wanted
    if (bytes !== null && first !== undefined) {
      this.#load(first, bytes, wanted)
      return
    }
    this.#rest()
    this.#events.returned(wanted)
  }

  #load(first: Run, bytes: Uint8Array, runs: readonly Run[]): void {
    const { frames } = this.process
    const { number, removed } = this.modules.add(first.module)
    for (const old of removed) {
      frames.begin(Request.forget)
      frames.uint32(old)
      frames.finish()
    }
    frames.begin(Request.load)
    frames.uint32(number)
    frames.finish(bytes.length)
    this.steps.push(newStep('load', first))
    this.process.send(bytes)
    for (const run of runs) this.#send(run, number)
  }

  #send(run: Run, number: number): void {
    const { frames } = this.process
    const { work } = run
    frames.begin(work.kind === 'call' ? Request.call : Request.list)
    frames.uint32(number)
    if (work.kind === 'call') {
      frames.text(work.name)
      writeValues(frames, work.args)
    }
    frames.finish()
    this.steps.push(newStep(work.kind, run))
    this.process.sendSoon()
  }
}

/** The bytes of the module; null when the run has failed for want of them. */
async function bytesOf(run: Run): Promise<Uint8Array | null> {
  try {
    return await run.module.bytes()
  } catch (error) {
    run.reject(error)
    return null
  }
}
