import type {
  Log,
  WasmLimits,
  WasmModule,
  WasmProgramResult,
  WasmProgramRun,
  WasmRuntime,
} from '@nodekeep/plugin-sdk'
import type { Configuration } from './configuration.ts'
import { checkMountable, copyIn } from './folders/copy-in.ts'
import { type ChangedFolder, writeBack } from './folders/write-back.ts'
import { Pool } from './pool/pool.ts'
import { BodyReader } from './protocol/frame.ts'
import type { RunRequest } from './protocol/messages.ts'

/** The plugin's configuration, and its log. */
export interface WasmerSettings extends Configuration {
  readonly log: Log
}

/** Runs WASI programs, each in a process of its own that ends with the program. */
export class WasmerRuntime implements WasmRuntime {
  readonly supports = { functions: false, programs: true }
  readonly programsAtOnce: number
  readonly #settings: WasmerSettings
  readonly #pool: Pool

  constructor(settings: WasmerSettings) {
    this.#settings = settings
    this.programsAtOnce = settings.processes
    this.#pool = new Pool(settings)
  }

  async run(
    module: WasmModule,
    program: WasmProgramRun,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<WasmProgramResult> {
    const { args, env, stdin, preopens } = program
    preopens.forEach(checkMountable)
    const bounds = {
      memoryBytes: limits.memoryBytes,
      outputBytes: limits.outputBytes,
      folderBytes: this.#settings.folderMB * 2 ** 20,
      folderEntries: this.#settings.folderEntries,
    }
    const bytes = await module.bytes()
    const { folders, contents, revisions } = await copyIn(preopens, bounds, signal)
    const request: RunRequest = {
      args,
      env,
      moduleBytes: bytes.length,
      stdinBytes: stdin.length,
      folders,
      limits: bounds,
    }
    const { ending, body } = await this.#pool.run(request, [bytes, stdin, ...contents], limits, signal)
    const parts = new BodyReader(body)
    const stdout = parts.take(ending.stdoutBytes)
    const stderr = parts.take(ending.stderrBytes)
    const changed: ChangedFolder[] = []
    for (const [index, { removed, stored }] of ending.changes.entries()) {
      const preopen = preopens[index]
      const known = revisions[index]
      if (preopen === undefined || known === undefined || !preopen.writable) continue
      const entries = stored.map(({ path, size }) => ({
        path,
        content: size === null ? null : parts.take(size),
      }))
      changed.push({ preopen, revisions: known, removed, stored: entries })
    }
    await writeBack(changed, ending.exitCode)
    return { exitCode: ending.exitCode, stdout, stderr }
  }

  /** Ends every process. Runs that have not ended fail. */
  async stop(): Promise<void> {
    await this.#pool.stop()
  }
}
