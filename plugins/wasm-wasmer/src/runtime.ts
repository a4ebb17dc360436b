import {
  isNodekeepError,
  type Log,
  NodekeepError,
  untilAborted,
  type WasmLimits,
  type WasmModule,
  WasmProgramError,
  type WasmProgramResult,
  type WasmProgramRun,
  type WasmRuntime,
} from '@nodekeep/plugin-sdk'
import { BodyReader } from '@nodekeep/plugin-sdk/sandbox-frames'
import { timeLimitReached } from '@nodekeep/plugin-sdk/sandbox-process'
import type { Configuration } from './configuration.ts'
import { checkMountable, copyIn } from './folders/copy-in.ts'
import { type ChangedFolder, writeBack } from './folders/write-back.ts'
import { Pool } from './pool/pool.ts'
import type { FolderChanges, RunRequest } from './protocol/messages.ts'

/** Characters of the longest path. A program that moves folders into one another could make paths of megabytes. */
const longestPath = 4096

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
      folderBytes: this.#settings.folderMB * 2 ** 20,
      folderEntries: this.#settings.folderEntries,
    }
    const bytes = await module.bytes()
    signal.throwIfAborted()
    const { copies, contents } = await withDeadline(limits, (late) => {
      const ended = AbortSignal.any([signal, late])
      return untilAborted(copyIn(preopens, bounds, ended), ended)
    })
    const request: RunRequest = {
      args,
      env,
      moduleBytes: bytes.length,
      stdinBytes: stdin.length,
      folders: copies.map(({ folder }) => folder),
      limits: bounds,
    }
    const { ending, body, output } = await this.#pool.run(
      request,
      [bytes, stdin, ...contents],
      limits,
      signal,
    )
    const parts = new BodyReader(body)
    const changed: ChangedFolder[] = []
    for (const [index, changes] of ending.changes.entries()) {
      const copy = copies[index]
      if (copy === undefined || !copy.preopen.writable) continue
      const { preopen, paths, revisions } = copy
      changed.push({ preopen, revisions, ...changesByPath(changes, paths, parts) })
    }
    await withDeadline(limits, (late) => writeBack(changed, ending.exitCode, late)).catch((error) => {
      if (!isNodekeepError(error)) throw error
      const { code, message, headers } = error
      throw new WasmProgramError(code, message, { cause: error, headers, ...output })
    })
    return { exitCode: ending.exitCode, ...output }
  }

  /** Ends every process. Runs that have not ended fail. */
  async stop(): Promise<void> {
    await this.#pool.stop()
  }
}

/** Gives a step of a run a signal that aborts at the time limit. */
async function withDeadline<T>(limits: WasmLimits, step: (late: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(timeLimitReached(limits)), limits.timeoutMs)
  try {
    return await step(controller.signal)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Reads the changes in a folder.
 *
 * @param before the paths of the entries that were copied in, by number
 * @param contents the contents of the stored files
 * @throws NodekeepError UNPROCESSABLE for a path that files cannot have, RangeError when the changes make no sense
 */
function changesByPath(
  { removed, stored }: FolderChanges,
  before: readonly string[],
  contents: BodyReader,
): Pick<ChangedFolder, 'removed' | 'stored'> {
  const paths = [...before]
  const pathOf = (number: number): string => {
    const path = paths[number]
    if (path === undefined) throw new RangeError('The changes name an entry that does not exist.')
    return path
  }
  return {
    removed: removed.map(pathOf),
    stored: stored.map(({ parent, name, size, modified }) => {
      // Each path is one piece of memory: a path that refers to the one above it would be copied name by name.
      const path = parent === null ? name : [pathOf(parent), name].join('/')
      if (path.length > longestPath) throw tooLongPath()
      paths.push(path)
      const content = size === null ? null : contents.take(size)
      return { path, content, modified: new Date(modified) }
    }),
  }
}

function tooLongPath(): NodekeepError {
  return new NodekeepError(
    'UNPROCESSABLE',
    `None of the program's changes was stored: it made a path that is longer than ${longestPath} characters.`,
  )
}
