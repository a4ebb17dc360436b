import { execFile } from 'node:child_process'
import { chmod, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  concurrently,
  conflict,
  invalid,
  messageOf,
  NodekeepError,
  type NodeSupervisor,
  type SupervisorLink,
} from '@nodekeep/plugin-sdk'
import {
  commandOf,
  ReleaseFolder,
  type ReleaseManifest,
  readManifest,
  versionPattern,
} from '../supervisor/release-folder.ts'
import { readHistory, readState, rollbackUntil } from '../supervisor/supervisor-state.ts'
import type {
  DatabaseCopies,
  NodeReleases,
  ReleaseAttempt,
  ReleaseCheck,
  RollbackTarget,
} from './node-releases.ts'

/** The output of `nodekeep config check --json`. */
interface Checked {
  readonly problems: readonly string[]
  /** Those of the problems that a start survives. */
  readonly optional?: readonly string[]
  readonly blocked?: readonly { readonly id: string; readonly reason: string }[]
}

const checkMs = 120_000

/** Changes the release of the node, through its supervisor. */
export class SupervisedReleases implements NodeReleases {
  readonly #supervisor: SupervisorLink | null
  readonly #configurationFiles: readonly string[]
  /** The answer of the former release to {@link rollbackProblems}, and the state of the files that it is about. */
  #former: { readonly about: string; readonly checking: Promise<Checked> } | null = null

  constructor({ link, configurationFiles }: NodeSupervisor) {
    this.#supervisor = link
    this.#configurationFiles = configurationFiles
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
    const known = new Set(readManifest(this.#folder().inUse()).schema.map(({ id }) => id))
    const canRollBack = schema.every(({ id, change }) => known.has(id) || change === 'expand')
    const checked = await checkConfiguration(folder, args, signal).catch(asProblem)
    signal.throwIfAborted()
    const { optional = [], blocked = [] } = checked
    return {
      problems: startProblems(checked),
      warnings: [...optional, ...blocked.map(({ id, reason }) => `"${id}" is blocked: ${reason}`)],
      canRollBack,
    }
  }

  async changeTo(
    folder: string,
    { waitMs, withoutRollback = false }: { readonly waitMs: number; readonly withoutRollback?: boolean },
  ): Promise<void> {
    const supervisor = this.#connected()
    const { version } = manifestIn(folder)
    if (folder !== join(this.#folder().unpacking, version)) {
      throw invalid(`A release to change to is in the folder that was prepared for it, not in ${folder}.`)
    }
    // After a power cut, the files of the new release must have their content.
    await syncTree(folder)
    await supervisor.ask({
      nodekeep: 'change release',
      release: version,
      patienceMs: waitMs,
      withoutWayBack: withoutRollback,
    })
  }

  async goBack(reason: string): Promise<void> {
    await this.#connected().ask({ nodekeep: 'go back', reason })
  }

  async rollback(): Promise<RollbackTarget | null> {
    if (this.#supervisor === null) return null
    const { change, admission, ranMs } = readState(this.#supervisor.releases)
    if (this.#folder().target('former') === null) return null
    if (change?.step === 'admitting') return rollbackTarget(change.from, change.closedBy, 0)
    return change !== null || admission === null
      ? null
      : rollbackTarget(admission.former, admission.closedBy, ranMs)
  }

  async rollbackProblems(): Promise<readonly string[]> {
    const former = (await this.rollback()) === null ? null : this.#folder().target('former')
    if (former === null) return []
    const stamps = await Promise.all(this.#configurationFiles.map(stampOf))
    const about = [former, ...stamps].join(' ')
    if (this.#former?.about !== about)
      this.#former = { about, checking: checkConfiguration(former, this.#connected().args) }
    const { checking } = this.#former
    try {
      return startProblems(await checking)
    } catch (cause) {
      // The machine may just have been too busy.
      if (this.#former?.checking === checking) this.#former = null
      const message = `The former release cannot check the configuration now: ${messageOf(cause)}`
      throw new NodekeepError('SERVICE_UNAVAILABLE', message, { cause })
    }
  }

  async databaseCopies(): Promise<readonly DatabaseCopies[]> {
    if (this.#supervisor === null) return []
    const until = rollbackUntil(readState(this.#supervisor.releases).ranMs) ?? new Date()
    const copies: DatabaseCopies[] = []
    for (const { path, before } of this.#folder().copies())
      copies.push({ folder: path, before, bytes: await bytesIn(path), until })
    return copies
  }

  async history(): Promise<readonly ReleaseAttempt[]> {
    if (this.#supervisor === null) return []
    const { releases } = this.#supervisor
    // The supervisor stores the end of a change in the history first, so in this order no change is missing.
    const { change } = readState(releases)
    const stored = readHistory(releases)
    const over = stored.map((attempt) => ({
      ...attempt,
      startedAt: new Date(attempt.startedAt),
      endedAt: new Date(attempt.endedAt),
    }))
    if (change === null || stored.some((attempt) => attempt.startedAt === change.startedAt)) return over
    const { from, to, startedAt } = change
    return [
      ...over,
      {
        from,
        to,
        startedAt: new Date(startedAt),
        endedAt: null,
        result: 'running',
        reason: null,
        failedOnTrial: false,
      },
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

function rollbackTarget(version: string, closedBy: string | null, ranMs: number): RollbackTarget | null {
  const until = rollbackUntil(ranMs)
  return until === null || closedBy !== null ? null : { version, until }
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

/** @throws Error if the release does not print the result */
async function checkConfiguration(
  release: string,
  args: readonly string[],
  signal?: AbortSignal,
): Promise<Checked> {
  const command = ['config', 'check', '--json', ...args]
  const limits = { timeout: checkMs, maxBuffer: 2 ** 24, ...(signal !== undefined && { signal }) }
  // The command fails if it finds problems, which it prints all the same.
  const { stdout, problem } = await promisify(execFile)(commandOf(release), command, limits).then(
    (done) => ({ stdout: done.stdout, problem: '' }),
    (error) => ({ stdout: String(error.stdout ?? ''), problem: String(error.stderr || messageOf(error)) }),
  )
  try {
    return JSON.parse(stdout) as Checked
  } catch {
    throw new Error(problem.trim().replaceAll(/\s+/g, ' '))
  }
}

function asProblem(error: unknown): Checked {
  return { problems: [`The release cannot check the configuration: ${messageOf(error)}`] }
}

/** The problems that would keep the release from starting. */
function startProblems({ problems, optional = [] }: Checked): string[] {
  return problems.filter((problem) => !optional.includes(problem))
}

/** Returns a text that is another one when the file was changed. */
async function stampOf(file: string): Promise<string> {
  return stat(file).then(
    ({ mtimeMs, size }) => `${mtimeMs}-${size}`,
    () => 'gone',
  )
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** The number of files that are brought to the disk at a time. One after the other, they take several times as long. */
const syncedAtOnce = 8

/** Brings all files of a folder, and the names in it, to the disk. */
async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const paths = entries
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
  await concurrently([folder, ...paths], syncedAtOnce, async (path) => {
    const file = await open(path)
    await file.sync().finally(() => file.close())
  })
}
