import type { Log, WasmLimits } from '@nodekeep/plugin-sdk'
import type { RunRequest } from '../protocol/messages.ts'
import { runtimeStopped } from './failures.ts'
import { Run, type RunResult } from './run.ts'
import { Sandbox } from './sandbox.ts'
import type { SandboxPurpose } from './spawn-sandbox.ts'

/** Bounds of a pool. */
export interface PoolSettings {
  readonly spares: number
  readonly idleMs: number
  readonly log: Log
}

/** Keeps sandboxes ready, and gives each run one of its own. */
export class Pool {
  readonly #settings: PoolSettings
  /** All that have not ended. */
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
    for (const sandbox of this.#sandboxes) sandbox.kill()
    await Promise.all(ends)
  }

  #take(memoryBytes: number): Sandbox {
    const spares = [...this.#spares].filter((spare) => spare.memoryBytes === memoryBytes)
    const sandbox = spares.find(({ isReady }) => isReady) ?? spares[0] ?? this.#start(memoryBytes, 'run')
    this.#spares.delete(sandbox)
    return sandbox
  }

  /** Keeps as many ready as there are to be, of the kind that was needed last. */
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
    spare.kill()
  }

  #start(memoryBytes: number, purpose: SandboxPurpose): Sandbox {
    const sandbox = new Sandbox(memoryBytes, purpose)
    this.#sandboxes.add(sandbox)
    sandbox.once('ended', () => {
      this.#sandboxes.delete(sandbox)
      if (!this.#spares.delete(sandbox) || this.#stopped) return
      const { exit, complaint } = sandbox
      this.#settings.log.warn({ exit, complaint }, 'a sandbox for programs ended before it had one')
    })
    return sandbox
  }
}
