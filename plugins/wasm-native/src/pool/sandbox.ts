import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { FrameReader } from '../protocol/frame-reader.ts'
import { FrameSplitter } from '../protocol/frame-splitter.ts'
import { FrameWriter } from '../protocol/frame-writer.ts'
import { Answer, failureCodes, largestAnswer, Request } from '../protocol/messages.ts'
import { readValues, writeValues } from '../protocol/values.ts'
import { ModuleShelf } from './module-shelf.ts'
import type { Run } from './run.ts'
import { type SandboxChild, spawnSandbox } from './spawn-sandbox.ts'
import { newStep, type Step } from './step.ts'

/** Bytes of what a sandbox complains on its standard error that are kept: the end says why it died. */
const keptComplaint = 4096

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
export class Sandbox {
  readonly memoryBytes: number
  readonly modules: ModuleShelf
  /** In the order in which they were sent, which is that of the answers. */
  readonly steps: Step[] = []
  state: 'starting' | 'ready' | 'ended' = 'starting'
  /** Whether it lets every other process go first. */
  slow = false
  /** When it had its last answer, as `performance.now()`. */
  usedAt = performance.now()
  /** Why it was killed, when it was. */
  killedFor: string | null = null
  complaint = ''
  exit = ''
  /** Runs that wait until the bytes of their module have come. */
  #fetching: { readonly hash: string; readonly runs: Run[] } | null = null
  readonly #child: SandboxChild
  readonly #events: SandboxEvents
  readonly #frames = new FrameWriter()
  #scheduled = false

  constructor(
    memoryBytes: number,
    most: { readonly modules: number; readonly bytes: number },
    events: SandboxEvents,
  ) {
    this.memoryBytes = memoryBytes
    this.modules = new ModuleShelf(most)
    this.#events = events
    this.#child = spawnSandbox(memoryBytes)
    this.#listen()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get busy(): boolean {
    return this.steps.length > 0 || this.#fetching !== null
  }

  /** How many runs it has before it. */
  get load(): number {
    return this.steps.length + (this.#fetching?.runs.length ?? 0)
  }

  /** Whether a run of this module need not wait for its bytes longer than others do. */
  has(hash: string): boolean {
    return this.modules.has(hash) || this.#fetching?.hash === hash
  }

  /** Takes on a run. One whose module it does not have may only come when it is not busy. */
  take(run: Run): void {
    const { hash } = run.module
    const number = this.modules.use(hash)
    if (number !== undefined) this.#send(run, number)
    else if (this.#fetching?.hash === hash) this.#fetching.runs.push(run)
    else void this.#fetch(run)
  }

  /** Forgets to wait for bytes that nobody wants any more. */
  giveUpFetching(): void {
    if (this.#fetching?.runs.every(({ settled }) => settled)) this.#fetching = null
  }

  kill(reason: string): void {
    this.killedFor ??= reason
    this.#child.kill('SIGKILL')
  }

  /** Takes away the runs that have not been sent. */
  takeWaiting(): Run[] {
    const runs = this.#fetching?.runs ?? []
    this.#fetching = null
    return runs
  }

  async #fetch(run: Run): Promise<void> {
    const fetching = { hash: run.module.hash, runs: [run] }
    this.#fetching = fetching
    const bytes = await run.module.bytes().catch((error: unknown) => {
      run.reject(error)
      return null
    })
    if (this.#fetching !== fetching) return
    const wanted = this.takeWaiting().filter(({ settled }) => !settled)
    const [first] = wanted
    if (bytes === null || first === undefined) this.#events.returned(wanted)
    else this.#load(first, bytes, wanted)
  }

  #load(first: Run, bytes: Uint8Array, runs: readonly Run[]): void {
    const { number, removed } = this.modules.add(first.module)
    for (const old of removed) {
      this.#frames.begin(Request.forget)
      this.#frames.uint32(old)
      this.#frames.finish()
    }
    this.steps.push(newStep('load', first))
    this.#frames.begin(Request.load)
    this.#frames.uint32(number)
    this.#frames.finish(bytes.length)
    this.#flush()
    this.#child.stdin.write(bytes)
    for (const run of runs) this.#send(run, number)
  }

  #send(run: Run, number: number): void {
    const { work } = run
    const frames = this.#frames
    frames.begin(work.kind === 'call' ? Request.call : Request.list)
    frames.uint32(number)
    if (work.kind === 'call') {
      frames.text(work.name)
      writeValues(frames, work.args)
    }
    frames.finish()
    this.steps.push(newStep(work.kind, run))
    // What is asked for in this turn of the event loop goes there together.
    if (!this.#scheduled) setImmediate(() => this.#flush())
    this.#scheduled = true
  }

  #flush(): void {
    this.#scheduled = false
    if (this.#frames.empty || this.state === 'ended') return
    this.#child.stdin.write(this.#frames.take())
    const [step] = this.steps
    if (step?.began === Number.POSITIVE_INFINITY) step.began = performance.now()
  }

  #listen(): void {
    const child = this.#child
    const splitter = new FrameSplitter(largestAnswer)
    child.stdout.on('data', (chunk: Buffer) => {
      const now = performance.now()
      try {
        splitter.push(chunk, (frame) => this.#answer(frame, now))
      } catch {
        this.kill('it answered what nobody understands')
      }
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-keptComplaint)
    })
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    child.on('error', (error) => {
      this.complaint += error.message
      this.#end('could not be started')
    })
    child.on('close', (code, signal) => this.#end(signal ?? `exit code ${code}`))
  }

  #end(how: string): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    this.exit = how
    this.#events.ended(this)
  }

  #answer(frame: FrameReader, now: number): void {
    if (frame.kind === Answer.ready) {
      this.state = 'ready'
      this.#events.ready(this)
      return
    }
    const step = this.steps.shift()
    if (step === undefined) throw new RangeError('Nothing was asked for.')
    const ms = frame.uint32() / 1000
    const [next] = this.steps
    // The time that a module takes to load is that of the first run that wanted it.
    if (next !== undefined) next.began = step.kind === 'load' && next.run === step.run ? step.began : now
    this.usedAt = now
    if (step.kind !== 'load') settle(step.run, frame)
    this.#events.answered(this, step, ms)
  }
}

function settle(run: Run, frame: FrameReader): void {
  if (frame.kind === Answer.done) run.resolve(readValues(frame))
  else if (frame.kind === Answer.listed) run.resolve(JSON.parse(frame.text()))
  else {
    const code = failureCodes[frame.uint8()] ?? 'SERVICE_UNAVAILABLE'
    run.reject(new NodekeepError(code, frame.text()))
  }
}
