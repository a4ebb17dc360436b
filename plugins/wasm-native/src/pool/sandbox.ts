import { extname } from 'node:path'
import { NodekeepError, type WasmLimits, type WasmModule, type WasmNumber } from '@nodekeep/plugin-sdk'
import { SandboxProcess } from '@nodekeep/plugin-sdk/sandbox-process'
import { LRUCache } from 'lru-cache'
import { type FrameReader, FrameSplitter, FrameWriter } from '../protocol/frames.ts'
import { Answer, failureCodes, largestAnswer, Request } from '../protocol/messages.ts'

/** The purpose of a call: the list of a module's functions, or the results of one function. */
export type Wanted =
  | { readonly kind: 'list' }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly WasmNumber[] }

/** A call from its arrival to its answer. It may be tried in two processes. */
export class ModuleCall {
  readonly module: WasmModule
  readonly wanted: Wanted
  readonly limits: WasmLimits
  readonly answer = Promise.withResolvers<unknown>()
  /** Bytes of the module, once they were needed. */
  bytes: Uint8Array | null = null
  /** Processes that died during the call, for another reason than a limit. */
  deaths = 0
  /** Whether the call was answered, failed or was aborted. */
  over = false

  constructor(module: WasmModule, wanted: Wanted, limits: WasmLimits) {
    this.module = module
    this.wanted = wanted
    this.limits = limits
  }

  resolve(value: unknown): void {
    this.over = true
    this.answer.resolve(value)
  }

  reject(reason: unknown): void {
    this.over = true
    this.answer.reject(reason)
  }
}

/** The compiled modules that a sandbox keeps. */
export interface ModuleBounds {
  readonly cachedModules: number
  /** Bytes of the modules' binaries together. One module is always kept. */
  readonly cachedBytes: number
}

/** Hears what a sandbox does. */
export interface SandboxListener {
  /** The sandbox has started, or answered a call. */
  idle(sandbox: Sandbox): void
  /** The process is gone. A call that it had is still there. */
  ended(sandbox: Sandbox): void
}

interface CachedModule {
  /** Names the module in requests. */
  readonly number: number
  readonly size: number
}

const mebibyte = 2 ** 20
/** V8's heap beside a module's values that live there. */
const heapBytes = 64 * mebibyte
/** Memory of a busy process beside the modules' memories and tables. */
const busyBytes = 160 * mebibyte
/** Memory of an idle process. */
const idleBytes = 128 * mebibyte
/** Memory of a module that is loaded, its code included, as a multiple of its size. */
const moduleShare = 3
const openFiles = 64

/** A process that runs one call at a time. */
export class Sandbox {
  readonly memoryBytes: number
  readonly process: SandboxProcess
  /** Whether the process has started. */
  ready = false
  /** Whether the process was told to end. */
  ending = false
  call: ModuleCall | null = null
  /** When the process was started, its call began, or its last call ended, as `performance.now()`. */
  since = performance.now()
  /** Whether the memory that the last call left behind has to be checked. */
  unchecked = false
  readonly #listener: SandboxListener
  readonly #frames = new FrameWriter()
  readonly #modules: LRUCache<string, CachedModule>
  #lastNumber = 0

  constructor(memoryBytes: number, { cachedModules, cachedBytes }: ModuleBounds, listener: SandboxListener) {
    this.memoryBytes = memoryBytes
    this.#listener = listener
    this.#modules = new LRUCache({
      max: cachedModules,
      maxSize: Math.max(cachedBytes, 1),
      sizeCalculation: ({ size }) => Math.min(Math.max(size, 1), Math.max(cachedBytes, 1)),
      dispose: ({ number }) => this.#forget(number),
    })
    const splitter = new FrameSplitter(largestAnswer)
    const folder = (name: string) => new URL(`../${name}/`, import.meta.url)
    this.process = new SandboxProcess(
      {
        main: new URL(`main${extname(import.meta.url)}`, folder('sandbox')),
        args: [String(memoryBytes)],
        readable: [folder('protocol')],
        heapBytes: heapBytes + memoryBytes,
        openFiles,
        flags: ['--expose-gc'],
      },
      {
        data: (chunk) => splitter.push(chunk, (frame) => this.#hear(frame)),
        ended: () => listener.ended(this),
      },
    )
  }

  get idle(): boolean {
    return this.ready && !this.ending && this.call === null
  }

  /** Modules that the process has compiled. */
  get modules(): number {
    return this.#modules.size
  }

  has(hash: string): boolean {
    return this.#modules.has(hash)
  }

  /** Begins a call. If the sandbox does not have the module, the call has its bytes. */
  begin(call: ModuleCall): void {
    const { module, wanted, bytes } = call
    this.call = call
    this.since = performance.now()
    const known = this.#modules.get(module.hash)
    const number = known?.number ?? this.#load(module.hash, module.size, bytes ?? new Uint8Array())
    const frames = this.#frames
    frames.begin(wanted.kind === 'call' ? Request.call : Request.list)
    frames.uint32(number)
    if (wanted.kind === 'call') {
      frames.text(wanted.name)
      frames.numbers(wanted.args)
    }
    frames.finish()
    this.#send()
  }

  /** Ends the process, and what runs in it. */
  end(): void {
    this.ending = true
    this.process.kill()
  }

  /** Whether the process has more memory than its call may have. Known on Linux; V8's own bounds hold everywhere. */
  get exceedsMemory(): boolean {
    return this.process.residentBytes > this.memoryBytes + busyBytes + moduleShare * this.#moduleBytes
  }

  /** Whether calls left so much memory behind that the next one could exceed its limit. */
  get bloated(): boolean {
    return this.process.residentBytes > idleBytes + moduleShare * this.#moduleBytes
  }

  get #moduleBytes(): number {
    let sum = 0
    for (const { size } of this.#modules.values()) sum += size
    return sum
  }

  #load(hash: string, size: number, bytes: Uint8Array): number {
    this.#lastNumber += 1
    this.#modules.set(hash, { number: this.#lastNumber, size })
    this.#frames.begin(Request.load)
    this.#frames.uint32(this.#lastNumber)
    this.#frames.finish(bytes.length)
    this.#send()
    this.process.input.write(bytes)
    return this.#lastNumber
  }

  #forget(number: number): void {
    this.#frames.begin(Request.forget)
    this.#frames.uint32(number)
    this.#frames.finish()
  }

  #send(): void {
    this.process.input.write(this.#frames.take())
  }

  #hear(frame: FrameReader): void {
    const { call } = this
    if (frame.kind === Answer.ready) this.ready = true
    else if (call === null) throw new RangeError('An answer came without a call.')
    else if (!call.over) answer(call, frame)
    this.call = null
    this.since = performance.now()
    this.#listener.idle(this)
  }
}

function answer(call: ModuleCall, frame: FrameReader): void {
  if (frame.kind === Answer.done) call.resolve(frame.numbers())
  else if (frame.kind === Answer.listed) call.resolve(JSON.parse(frame.text()))
  else {
    const code = failureCodes[frame.uint8()]
    if (code === undefined) throw new RangeError('A failure has no code.')
    call.reject(new NodekeepError(code, frame.text()))
  }
}
