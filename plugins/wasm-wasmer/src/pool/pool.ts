import type { Log, WasmLimits } from '@nodekeep/plugin-sdk'
import { runtimeStopped } from '@nodekeep/plugin-sdk/sandbox-process'
import type { RunRequest } from '../protocol/messages.ts'
import { Run, type RunResult } from './run.ts'
import { Sandbox, type SandboxPurpose } from './sandbox.ts'

/** Settings of a pool. */
interface PoolSettings {
  readonly spares: number
  readonly idleMs: number
  readonly log: Log
}

/** Gives each run a sandbox of its own, and keeps spare ones ready. */
export class Pool {
  readonly #settings: PoolSettings
  /** All whose process has not ended. */
  readonly #sandboxes = new Set<Sandbox>()
  readonly #spares = new Set<Sandbox>()
  readonly #runs = new Set<Run>()
  #idle: NodeJS.Timeout | undefined
  #stopped = false

  constructor(settings: PoolSettings) {
    this.#settings = settings
  }

  async run(
    request: RunRequest,
    body: readonly Uint8Array[],
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<RunResult> {
    if (this.#stopped) throw runtimeStopped()
    const run = new Run(this.#take(limits.memoryBytes), request, body, limits, signal)
    this.#runs.add(run)
    this.#restock(limits.memoryBytes)
    try {
      return await run.result
    } finally {
      this.#runs.delete(run)
      this.#endSparesLater()
    }
  }

  /** Ends every sandbox, and waits until they are gone. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#idle)
    for (const run of this.#runs) run.stop()
    const ends = [...this.#sandboxes].map(
      (sandbox) => new Promise<void>((resolve) => sandbox.once('ended', resolve)),
    )
    for (const sandbox of this.#sandboxes) sandbox.process.kill()
    await Promise.all(ends)
  }

  #take(memoryBytes: number): Sandbox {
    const spares = [...this.#spares].filter((spare) => spare.memoryBytes === memoryBytes)
    const sandbox = spares.find(({ isReady }) => isReady) ?? spares[0] ?? this.#start(memoryBytes, 'run')
    this.#spares.delete(sandbox)
    return sandbox
  }

  /** Keeps spare sandboxes ready, with the memory limit of the last run. */
  #restock(memoryBytes: number): void {
    clearTimeout(this.#idle)
    const { spares } = this.#settings
    for (const spare of this.#spares) if (spare.memoryBytes !== memoryBytes) this.#drop(spare)
    while (this.#spares.size < spares) this.#spares.add(this.#start(memoryBytes, 'spare'))
  }

  #endSparesLater(): void {
    clearTimeout(this.#idle)
    if (this.#runs.size > 0 || this.#stopped) return
    this.#idle = setTimeout(() => {
      for (const spare of this.#spares) this.#drop(spare)
    }, this.#settings.idleMs)
    this.#idle.unref()
  }

  #drop(spare: Sandbox): void {
    this.#spares.delete(spare)
    spare.process.kill()
  }

  #start(memoryBytes: number, purpose: SandboxPurpose): Sandbox {
    const sandbox = new Sandbox(memoryBytes, purpose)
    this.#sandboxes.add(sandbox)
    sandbox.once('ended', () => {
      this.#sandboxes.delete(sandbox)
      if (!this.#spares.delete(sandbox) || this.#stopped) return
      const { exit, stderrTail } = sandbox.process
      this.#settings.log.warn(
        { exit, stderrTail },
        'A spare sandbox ended unexpectedly. Another one is started for the next program.',
      )
    })
    return sandbox
  }
}
