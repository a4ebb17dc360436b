import { execFile } from 'node:child_process'
import { chmod, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  NodekeepError,
  type NodeReleases,
  type ReleaseAttempt,
  type ReleaseCheck,
  type WayBack,
} from '@nodekeep/plugin-sdk'
import { messageOf } from '../errors/thrown.ts'
import { databaseSchema } from '../state/database-schema.ts'
import { syncFolder } from '../state/sync-folder.ts'
import {
  commandOf,
  ReleaseFolder,
  type ReleaseManifest,
  readManifest,
  versionPattern,
} from '../supervisor/release-folder.ts'
import { readHistory, readState, wayBackUntil } from '../supervisor/supervisor-state.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** The output of `nodekeep config check --json`. */
interface Checked {
  readonly problems: readonly string[]
  /** Those of the problems that a start survives. */
  readonly optional?: readonly string[]
  readonly blocked?: readonly { readonly id: string; readonly reason: string }[]
}

const checkMs = 120_000

/** Changes the release of the node, through its supervisor. */
export class KernelReleases implements NodeReleases {
  readonly #supervisor: SupervisorLink | null

  constructor(supervisor: SupervisorLink | null) {
    this.#supervisor = supervisor
  }

  get folder(): string | null {
    return this.#supervisor?.releases ?? null
  }

  async prepare(version: string): Promise<string> {
    const folder = this.#folder()
    if (!versionPattern.test(version)) throw invalid(`"${version}" is no version, such as 1.2.0.`)
    if (readState(folder.path).change !== null) throw conflict('The release changes already.')
    await rm(folder.unpacking, { recursive: true, force: true })
    await mkdir(folder.unpacking, { recursive: true, mode: 0o700 })
    await checkRunsPrograms(folder.unpacking)
    const path = join(folder.unpacking, version)
    await mkdir(path)
    return path
  }

  async check(folder: string, signal: AbortSignal): Promise<ReleaseCheck> {
    const { args } = this.#connected()
    const { schema } = manifestIn(folder)
    const known = new Set(databaseSchema.map(({ id }) => id))
    const wayBack = schema.every(({ id, change }) => known.has(id) || change === 'expand')
    const { problems, optional = [], blocked = [] } = await checkConfiguration(folder, args, signal)
    return {
      problems: problems.filter((problem) => !optional.includes(problem)),
      warnings: [...optional, ...blocked.map(({ id, reason }) => `"${id}" is blocked: ${reason}`)],
      wayBack,
    }
  }

  async changeTo(folder: string, { patienceMs }: { readonly patienceMs: number }): Promise<void> {
    const supervisor = this.#connected()
    const { version } = manifestIn(folder)
    if (folder !== join(this.#folder().unpacking, version)) {
      throw invalid(`A release to change to is in the folder that was prepared for it, not in ${folder}.`)
    }
    // After a power cut, the files of the new release must have their content.
    await syncTree(folder)
    await supervisor.ask({ nodekeep: 'change release', release: version, patienceMs })
  }

  async goBack(reason: string): Promise<void> {
    await this.#connected().ask({ nodekeep: 'go back', reason })
  }

  async wayBack(): Promise<WayBack | null> {
    if (this.#supervisor === null) return null
    const { change, admission } = readState(this.#supervisor.releases)
    if (change !== null || admission === null || admission.closedBy !== null) return null
    const until = wayBackUntil(admission)
    const isThere = this.#folder().target('former') !== null
    return until === null || !isThere ? null : { version: admission.former, until }
  }

  async history(): Promise<readonly ReleaseAttempt[]> {
    if (this.#supervisor === null) return []
    const { releases } = this.#supervisor
    const over = readHistory(releases).map((attempt) => ({
      ...attempt,
      startedAt: new Date(attempt.startedAt),
      endedAt: new Date(attempt.endedAt),
    }))
    const { change } = readState(releases)
    if (change === null) return over
    const { from, to, startedAt } = change
    return [
      ...over,
      { from, to, startedAt: new Date(startedAt), endedAt: null, result: 'running', reason: null },
    ]
  }

  #connected(): SupervisorLink {
    if (this.#supervisor !== null) return this.#supervisor
    throw conflict(
      'The release of this node is changed by hand, because no supervisor runs the node. Stop it, and start the new release with "bin/nodekeep supervise"; later updates then need no hand.',
    )
  }

  #folder(): ReleaseFolder {
    return new ReleaseFolder(this.#connected().releases)
  }
}

function manifestIn(folder: string): ReleaseManifest {
  try {
    return readManifest(folder)
  } catch (error) {
    throw invalid(messageOf(error))
  }
}

/** @throws NodekeepError CONFLICT if the disk is mounted so that no program on it may run */
async function checkRunsPrograms(folder: string): Promise<void> {
  const program = join(folder, 'program')
  await writeFile(program, '#!/bin/sh\n', { mode: 0o700 })
  await chmod(program, 0o700)
  try {
    await promisify(execFile)(program)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    throw conflict(
      `No program may run in ${dirname(folder)}: the disk is mounted with "noexec". Name a folder on another disk with "releases.folder" (a service: "nodekeep service install --releases FOLDER"), and start again.`,
    )
  } finally {
    await rm(program, { force: true })
  }
}

async function checkConfiguration(
  release: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Checked> {
  const command = ['config', 'check', '--json', ...args]
  const run = promisify(execFile)(commandOf(release), command, {
    signal,
    timeout: checkMs,
    maxBuffer: 2 ** 24,
  })
  const { stdout, problem } = await run.then(
    (done) => ({ stdout: done.stdout, problem: '' }),
    (error) => ({ stdout: String(error.stdout ?? ''), problem: String(error.stderr || messageOf(error)) }),
  )
  signal.throwIfAborted()
  try {
    return JSON.parse(stdout) as Checked
  } catch {
    return {
      problems: [`The release cannot check the configuration: ${problem.trim().replaceAll(/\s+/g, ' ')}`],
    }
  }
}

/** Brings all files and names of a folder to the disk. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await syncTree(path)
    else if (entry.isFile()) {
      const file = await open(path)
      await file.sync().finally(() => file.close())
    }
  }
  syncFolder(folder)
}

function conflict(message: string): NodekeepError {
  return new NodekeepError('CONFLICT', message)
}

function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}
