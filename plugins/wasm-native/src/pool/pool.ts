import type { Log, WasmLimits, WasmModule } from '@nodekeep/plugin-sdk'
import {
  memoryLimitReached,
  OrphanGuard,
  runtimeStopped,
  sandboxEnded,
} from '@nodekeep/plugin-sdk/sandbox-process'
import { LimitsMonitor } from './limits-monitor.ts'
import { type ModuleBounds, ModuleCall, Sandbox, type SandboxListener, type Wanted } from './sandbox.ts'

/** Settings of a pool. */
export interface PoolSettings extends ModuleBounds {
  /** Most busy processes at a time. One more is a spare. */
  readonly processes: number
  /** Milliseconds after which an idle process ends. */
  readonly idleMs: number
  readonly log: Log
}

/** Failed starts in a row after which the waiting calls are refused. */
const mostFailedStarts = 3

/**
 * Runs calls in sandbox processes, one at a time in each, in the order in which they come. While processes are busy, an
 * idle one is kept as a spare, because a call ends at its limit with its process. A call whose process dies of another
 * reason is tried once more.
 */
export class Pool {
  readonly #settings: PoolSettings
  readonly #sandboxes = new Set<Sandbox>()
  readonly #guard: OrphanGuard
  readonly #monitor: LimitsMonitor
  readonly #listener: SandboxListener
  /** Calls without an answer. */
  readonly #calls = new Set<ModuleCall>()
  /** Those of them that wait for a process. */
  #waiting: ModuleCall[] = []
  /** Bytes of modules that are on their way, by hash. */
  readonly #fetching = new Map<string, Promise<Uint8Array>>()
  #failedStarts = 0
  /** When a start failed last, as `performance.now()`. */
  #failedAt = 0
  #stopped: PromiseWithResolvers<void> | null = null

  constructor(settings: PoolSettings) {
    this.#settings = settings
    this.#guard = new OrphanGuard(settings.log)
    this.#monitor = new LimitsMonitor(this.#sandboxes, settings.idleMs)
    this.#listener = { idle: (sandbox) => this.#idle(sandbox), ended: (sandbox) => this.#ended(sandbox) }
  }

  /** @throws NodekeepError as {@link WasmRuntime} says, and the signal's reason */
  async run(module: WasmModule, wanted: Wanted, limits: WasmLimits, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#stopped !== null) throw runtimeStopped()
    const call = new ModuleCall(module, wanted, limits)
    const abort = () => call.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#calls.add(call)
    this.#waiting.push(call)
    this.#beginWaiting()
    try {
      return await call.answer.promise
    } finally {
      signal.removeEventListener('abort', abort)
      this.#calls.delete(call)
    }
  }

  /** Ends every process. Calls that have no answer yet fail. */
  async stop(): Promise<void> {
    this.#stopped ??= Promise.withResolvers()
    this.#waiting = []
    for (const call of this.#calls) call.reject(runtimeStopped())
    for (const sandbox of this.#sandboxes) sandbox.end()
    if (this.#sandboxes.size > 0) await this.#stopped.promise
    this.#monitor.stop()
    await this.#guard.stop()
  }

  #beginWaiting(): void {
    if (this.#waiting.length > 0) {
      this.#waiting = this.#waiting.filter((call) => !call.over && !this.#begin(call))
    }
    this.#startSandboxes()
  }

  /** @returns whether the call no longer waits for a process */
  #begin(call: ModuleCall): boolean {
    const sandbox = this.#idleFor(call)
    if (sandbox === null) return false
    if (call.bytes === null && !sandbox.has(call.module.hash)) void this.#fetch(call)
    else {
      sandbox.begin(call)
      this.#monitor.begin()
    }
    return true
  }

  /** Finds an idle sandbox, rather one that has the module, or else the one with the fewest modules to lose. */
  #idleFor({ module, limits }: ModuleCall): Sandbox | null {
    let found: Sandbox | null = null
    for (const sandbox of this.#sandboxes) {
      if (!sandbox.idle || sandbox.memoryBytes !== limits.memoryBytes) continue
      if (sandbox.has(module.hash)) return sandbox
      if (found === null || sandbox.modules < found.modules) found = sandbox
    }
    return found
  }

  /** Gets the bytes of a call's module, and begins with the call then. No process is kept for it meanwhile. */
  async #fetch(call: ModuleCall): Promise<void> {
    const { module } = call
    const shared = this.#fetching.get(module.hash)
    // The bytes of another caller's module may fail for a reason that does not concern this caller.
    const fetching = shared?.catch(() => module.bytes()) ?? module.bytes()
    this.#fetching.set(module.hash, fetching)
    try {
      // An aborted call waits no longer.
      call.bytes = (await Promise.race([fetching, call.answer.promise])) as Uint8Array
    } catch (error) {
      call.reject(error)
    } finally {
      if (this.#fetching.get(module.hash) === fetching) this.#fetching.delete(module.hash)
    }
    if (this.#stopped !== null) return
    this.#waiting.unshift(call)
    this.#beginWaiting()
  }

  /** Starts processes for the calls that wait, and a spare one if any is busy. */
  #startSandboxes(): void {
    if (this.#stopped !== null) return
    const all = [...this.#sandboxes]
    const limits = this.#waiting[0]?.limits ?? all.find(({ call }) => call !== null)?.call?.limits
    if (limits === undefined) return
    const { memoryBytes } = limits
    const free = all.filter((each) => each.memoryBytes === memoryBytes && each.call === null && !each.ending)
    let missing = this.#waiting.length + 1 - free.length
    for (; missing > 0 && this.#sandboxes.size <= this.#settings.processes; missing -= 1) {
      const sandbox = new Sandbox(memoryBytes, this.#settings, this.#listener)
      this.#sandboxes.add(sandbox)
      this.#guard.add(sandbox.process.pid)
      this.#monitor.begin()
    }
    // If there are as many as there may be, an idle one with another memory limit makes room.
    if (this.#waiting.length > 0 && free.length === 0) {
      all.find((each) => each.idle && each.memoryBytes !== memoryBytes)?.end()
    }
  }

  #idle(sandbox: Sandbox): void {
    if (sandbox.ready) this.#failedStarts = 0
    this.#beginWaiting()
  }

  #ended(sandbox: Sandbox): void {
    const { call, process, ready, ending } = sandbox
    this.#sandboxes.delete(sandbox)
    this.#guard.drop(process.pid)
    if (!ending) {
      const { exit, stderrTail } = process
      this.#settings.log.warn(
        { exit, stderrTail },
        'A sandbox ended unexpectedly. The call that it ran is tried once more.',
      )
    }
    if (!ready) this.#countFailedStart(sandbox)
    if (call !== null && !call.over) this.#tryAgain(call, sandbox)
    if (this.#sandboxes.size === 0) this.#stopped?.resolve()
    this.#beginWaiting()
  }

  #tryAgain(call: ModuleCall, { process }: Sandbox): void {
    call.deaths += 1
    if (process.ranOutOfMemory) call.reject(memoryLimitReached(call.limits))
    else if (call.deaths > 1) call.reject(sandboxEnded(process.exit))
    else this.#waiting.unshift(call)
  }

  /** Refuses the waiting calls when no process can be started. */
  #countFailedStart({ since, process }: Sandbox): void {
    // Several that were started together and fail for the same reason count once.
    if (this.#stopped !== null || since < this.#failedAt) return
    this.#failedAt = performance.now()
    this.#failedStarts += 1
    if (this.#failedStarts < mostFailedStarts) return
    this.#failedStarts = 0
    for (const call of this.#waiting.splice(0)) call.reject(sandboxEnded(process.exit))
  }
}
